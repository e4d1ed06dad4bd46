"""The order of additions of both products, against the same done element by element, and their
values against other arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, random_array
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.sida import SIDA_SEMIRINGS
from tilewright.sim.numbers.semirings import combine, product
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.sida.result.products import (
    Columns,
    Rules,
    input_stationary,
    output_stationary,
)
from tilewright.sim.sida.result.sums import tree_sums
from tilewright.verif.kit.sampling import cases
from tilewright.verif.oracles.graphs import vector_product
from tilewright.verif.sida.model.drawn import drawn

pytestmark = pytest.mark.quick

Both = Callable[[Any, Any], Any]


def tree(leaves: dict[int, Any], size: int, plus: Both) -> Any:
    """The sum of some leaves of a tree."""
    if size == 1:
        return leaves.get(0)
    half = size // 2
    left = tree({n: x for n, x in leaves.items() if n < half}, half, plus)
    right = tree({n - half: x for n, x in leaves.items() if n >= half}, half, plus)
    if left is None or right is None:
        return right if left is None else left
    return plus(left, right)


def column(terms: dict[int, Any], plus: Both, leaves: int, partials: int) -> Any:
    """The sum of a column's terms, by their places; None without any."""
    parts: list[Any] = []
    for number, which in enumerate(sorted({place // leaves for place in terms})):
        mine = {place % leaves: x for place, x in terms.items() if place // leaves == which}
        found = tree(mine, leaves, plus)
        if number < partials:
            parts.append(found)
        else:
            parts[number % partials] = plus(parts[number % partials], found)
    while len(parts) > 1:
        pairs = [plus(*parts[n : n + 2]) for n in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0] if parts else None


def slowly(rules: Rules, name: str, matrix: Columns, vector: Any, second: bool) -> list[int]:
    """Computes either product element by element."""
    row, fmt = SEMIRINGS[name], rules.fmt

    def plus(x: Any, y: Any) -> Any:
        return combine(row, x, y, fmt)

    found = []
    for j in range(matrix.size):
        terms, late = {}, []
        for place in range(matrix.pointers[j], matrix.pointers[j + 1]):
            i = matrix.rows[place]
            term = product(row, vector[i], matrix.values[place], fmt, fmt)
            if second and i // rules.subtensor + 2 > j // rules.subtensor:
                late.append(term)
            else:
                terms[place] = term
        total = column(terms, plus, rules.leaves, rules.partials)
        total = np.uint64(rules.identity(row)) if total is None else total
        for term in late:
            total = plus(total, term)
        found.append(int(total))
    return found


@pytest.mark.parametrize(
    ("fmt", "name"),
    [("fp32", "mma"), ("fp16", "mma"), ("fp64", "mma"), ("int32", "mma"), ("fp32", "minplus"),
     ("fp32", "orand"), ("fp32", "addnorm")],
)  # fmt: skip
def test_every_bit(fmt: str, name: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(max(1, cases(12))):
        rules = Rules(
            fmt=FORMATS[fmt],
            leaves=int(rng.choice([1, 2, 4, 8])),
            partials=int(rng.integers(1, 5)),
            subtensor=int(rng.integers(1, 9)),
        )
        matrix = drawn(rng, int(rng.integers(1, 24)), fmt, rng.random())
        numbers = (
            rng.integers(-9, 9, matrix.size) if fmt == "int32" else rng.normal(size=matrix.size)
        )
        vector = encode(numbers, FORMATS[fmt])
        for second, function in ((False, output_stationary), (True, input_stationary)):
            found = function(rules, SEMIRINGS[name], matrix, vector)
            assert found.tolist() == slowly(rules, name, matrix, vector, second)


def test_features_are_products_of_their_own() -> None:
    rng = np.random.default_rng(2)
    rules = Rules(fmt=FORMATS["fp32"], leaves=4, subtensor=3)
    matrix = drawn(rng, 30, "fp32", 0.3)
    vectors = encode(rng.normal(size=(30, 5)), rules.fmt)
    for function in (output_stationary, input_stationary):
        found = function(rules, SEMIRINGS["mma"], matrix, vectors)
        for feature in range(5):
            one = function(rules, SEMIRINGS["mma"], matrix, vectors[:, feature])
            assert (found[:, feature] == one).all()


def test_against_scipy() -> None:
    rng = np.random.default_rng(3)
    for density in (0.0, 0.02, 0.5):
        rules = Rules(fmt=FORMATS["fp64"])
        matrix = drawn(rng, 200, "fp64", density)
        x = rng.normal(size=200)
        whole = csc_array(
            (decode(matrix.values, rules.fmt), matrix.rows, matrix.pointers), (200, 200)
        )
        for function in (output_stationary, input_stationary):
            found = decode(
                function(rules, SEMIRINGS["mma"], matrix, encode(x, rules.fmt)), rules.fmt
            )
            np.testing.assert_allclose(found, x @ whole, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", SIDA_SEMIRINGS)
def test_against_graphblas(name: str) -> None:
    """Small integers, so that no sum is rounded."""
    rng = np.random.default_rng(4)
    row = SIDA_SEMIRINGS[name]
    for density in (0.0, 0.03, 0.4):
        rules = Rules(fmt=FORMATS["fp64"], leaves=4, subtensor=4)
        matrix = csc_array(random_array((60, 60), density=density, rng=rng))
        matrix.data[:] = rng.integers(1, 9, matrix.nnz)
        matrix.sort_indices()
        x = rng.integers(0, 4, 60).astype(np.float64)
        numbers = Columns(
            pointers=matrix.indptr.astype(np.int64),
            rows=matrix.indices.astype(np.int64),
            values=encode(matrix.data, rules.fmt),
        )
        nothing = decode(np.array([rules.identity(row)], np.uint64), rules.fmt)[0]
        wanted = vector_product(name, x, matrix)
        wanted[np.isnan(wanted)] = nothing
        for function in (output_stationary, input_stationary):
            found = decode(function(rules, row, numbers, encode(x, rules.fmt)), rules.fmt)
            assert found.tolist() == wanted.tolist()


def test_refusals() -> None:
    none = np.zeros(0, np.int64)
    for changes, said in (
        ({"leaves": 6}, "`leaves` must be a power of two, not 6"),
        ({"partials": 0}, "`partials` must be at least 1, not 0"),
    ):
        given = {"leaves": 4, "partials": 1, **changes}
        with pytest.raises(ValueError, match=f"^{said}$"):
            tree_sums(none, none, none.astype(np.uint64), lambda x, y: x, **given)
    values = np.zeros(2, np.uint64)
    for pointers, rows, said in (
        ([0, 2, 1], [0, 1], "`pointers` must ascend from 0"),
        ([0, 1, 3], [0, 1], "`rows` and `values` must be 3, not 2 and 2"),
        ([0, 1, 2], [0, 2], "`rows` must be in 0..1"),
        ([0, 2, 2], [1, 0], "`rows` must ascend within each column"),
    ):
        with pytest.raises(ValueError, match=f"^{said}$"):
            Columns(pointers=np.array(pointers), rows=np.array(rows), values=values)
