"""Strassen-like algorithms as data: Brent's equations, other algorithms, refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from tilewright.sim.tcu import NumpyBackend, TensorUnit
from tilewright.sim.tcu.dense.bilinear import Bilinear
from tilewright.sim.tcu.dense.recursive import recursive
from tilewright.sim.tcu.dense.schemes import STANDARD, STRASSEN
from tilewright.sim.tcu.formulas import dense as formulas
from tilewright.sim.tcu.words import BOOLEAN, INT64

# Strassen's own seven products, as he wrote them: 18 additions.
OWN_LEFT = [[1, 0, 0, 1], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0], [-1, 0, 1, 0],
            [0, 1, 0, -1]]  # fmt: skip
OWN_RIGHT = [[1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, -1], [-1, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0],
             [0, 0, 1, 1]]  # fmt: skip
OWN_RESULT = [[1, 0, 0, 1, -1, 0, 1], [0, 0, 1, 0, 1, 0, 0], [0, 1, 0, 1, 0, 0, 0],
              [1, -1, 1, 0, 0, 1, 0]]  # fmt: skip


def own() -> Bilinear:
    return Bilinear.of_coefficients("own", OWN_LEFT, OWN_RIGHT, OWN_RESULT)


def squared() -> Bilinear:
    """Strassen's of 2 x 2 blocks of 2 x 2: 49 products for 4 x 4."""
    # Where blocks (i, j) of the outer, (k, m) of the inner are: row 2 i + k, column 2 j + m.
    places = [(2 * i + k) * 4 + 2 * j + m for i, j, k, m in product(range(2), repeat=4)]
    back = np.argsort(places)
    left, right = (np.kron(one, one)[:, back] for one in map(np.array, (OWN_LEFT, OWN_RIGHT)))
    result = np.kron(OWN_RESULT, OWN_RESULT)[back]
    return Bilinear.of_coefficients("squared", left.tolist(), right.tolist(), result.tolist())


def cubes() -> Bilinear:
    """The standard one of 3 x 3 blocks."""
    places = list(product(range(3), repeat=3))
    left, right, result = np.zeros((27, 9), int), np.zeros((27, 9), int), np.zeros((9, 27), int)
    for p, (i, j, k) in enumerate(places):
        left[p, 3 * i + k] = right[p, 3 * k + j] = result[3 * i + j, p] = 1
    return Bilinear.of_coefficients("cubes", left.tolist(), right.tolist(), result.tolist())


def test_additions_of_blocks_a_level() -> None:
    assert (STANDARD.additions, STRASSEN.additions, own().additions) == (4, 15, 18)
    assert (STANDARD.subtracts, STRASSEN.subtracts, cubes().subtracts) == (False, True, False)
    assert [len(one.products) for one in (STANDARD, STRASSEN, own(), squared())] == [8, 7, 7, 49]


@pytest.mark.parametrize("make", [own, squared, cubes])
def test_others_multiply(make: Any) -> None:
    scheme = make()
    rng = np.random.default_rng(4)
    for n in (1, 2, 3, 8, 13, 19):
        a, b = rng.integers(-99, 99, (2, n, n))
        unit = TensorUnit(NumpyBackend(2), INT64)
        np.testing.assert_array_equal(recursive(unit, scheme, a, b), a @ b)
        products = len(scheme.products)
        assert unit.cost.work == formulas.recursive(n, 2, products, 0, scheme.side).work


def test_negated_terms_and_copies_are_charged() -> None:
    """A block that is negated costs its additions, one that is copied its moves."""
    turned = replace(
        STANDARD,
        name="turned",
        operand_sums=("N = -A11", "M = A12"),
        products=("P1 = N B11", "P2 = M B21", *STANDARD.products[2:]),
        result_sums=("C11 = -P1 + P2", *STANDARD.result_sums[1:]),
    )
    unit = TensorUnit(NumpyBackend(2), INT64)
    a = np.arange(16).reshape(4, 4)
    np.testing.assert_array_equal(recursive(unit, turned, a, a), a @ a)
    assert (unit.cost.cpu_adds, unit.cost.cpu_moves) == (5 * 4, 4)


def test_words_that_do_not_subtract_take_those_that_need_not() -> None:
    a = np.eye(6, dtype=bool)[::-1]
    np.testing.assert_array_equal(
        recursive(TensorUnit(NumpyBackend(2), BOOLEAN), cubes(), a, a), np.eye(6, dtype=bool)
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"side": 1}, "`side` must be in 2..9, not 1"),
        ({"side": 10}, "`side` must be in 2..9, not 10"),
        ({"result_sums": STANDARD.result_sums[:3]}, "standard has no value 'C22'"),
        ({"result_sums": ("C11 = P1 - P2", *STANDARD.result_sums[1:])},
         "the results of standard are not those of a product of matrices"),
        ({"result_sums": ("C11 = P1 * P2", *STANDARD.result_sums[1:])},
         "statements must be like 'S = A11 - A12', not 'C11 = P1 * P2'"),
        ({"products": ("P1 = A11", *STANDARD.products[1:])},
         "products must be like 'P = S T', not 'P1 = A11'"),
        ({"operand_sums": ("S = A11 + B11",), "products": ("P1 = S B11", *STANDARD.products[1:])},
         "the results of standard are not those of a product of matrices"),
        ({"products": ("P1 = B11 A11", *STANDARD.products[1:])},
         "the results of standard are not those of a product of matrices"),
    ],
)  # fmt: skip
def test_what_is_no_product_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        replace(STANDARD, **changes)


def test_other_coefficients_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^coefficients must be -1, 0 or 1$"):
        Bilinear.of_coefficients("twice", [[2, 0, 0, 1]], [[1, 0, 0, 0]], [[1], [0], [0], [0]])
