"""Sums of entries in all semirings, and random mappings against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import coo_array
from tilewright.hw.spec.formats import FORMATS, FloatFormat
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.t2s.checking import random_operands
from tilewright.sim.t2s.definition_result import definition_result
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.sampling import cases, rng_of
from tilewright.verif.oracles.semirings import exact_result

from ..random_mappings import FORMS, DrawnSparse
from .plans import Kernel, made, operands

Words = npt.NDArray[np.uint64]


@pytest.mark.parametrize("semiring", ["minplus", "maxplus", "minmax", "maxmin", "orand"])
@pytest.mark.parametrize("merge", ["", "intersection", "union"])
def test_semirings(semiring: str, merge: str) -> None:
    """The reference computes word by word, without absent entries."""
    rng = rng_of(4)
    sparse = {"A": "ik"} if not merge else {"A": "ik", "B": "ik"}
    dense = {"x": "k"} if merge != "intersection" else {}
    plan = made(
        sparse, dense, "i", arithmetic={"ops": (semiring,)}, merge=merge, slots=3, extents={"k": 4}
    )
    fmt, bounds = FORMATS["fp32"], {"i": 12, "k": 9}
    assert isinstance(fmt, FloatFormat)
    words = encode(np.round(rng.normal(size=60), 1), fmt)
    tensors, others = operands(Kernel(sparse, dense, "i", merge), bounds, rng, words, 40)
    found = plan.computed(bounds, tensors, others)
    row = SEMIRINGS[semiring]
    wanted = np.full(12, row.identity_in(fmt), np.uint64)
    stored = [dict(zip(map(tuple, one.places.tolist()), one.words, strict=True))
              for one in tensors.values()]  # fmt: skip
    for place in sorted(set().union(*stored)):
        there = [one.get(place) for one in stored]
        if merge == "intersection" and None in there:
            continue
        values = [int(one) for one in there if one is not None]
        x = int(others["x"][place[1]]) if dense else 0
        a, b = (values[:1], values[1:]) if merge == "intersection" else (values, [x] * len(values))
        wanted[place[0]] = exact_result(row, a, b, int(wanted[place[0]]), fmt, fmt)
    assert found.tolist() == wanted.tolist()


def test_not_stored_is_not_there() -> None:
    """No product of a zero that is not stored with an infinity: as SciPy has it."""
    plan = made({"A": "ik"}, {"x": "k"}, "i", slots=2, extents={"k": 2})
    fmt = FORMATS["fp32"]
    matrix = coo_array(([1.0, 0.0, 2.0], ([0, 1, 1], [0, 0, 1])), shape=(3, 3))
    given = Entries(
        shape=(3, 3), places=np.stack(matrix.coords, axis=1).astype(np.int64),
        words=encode(matrix.data, fmt),
    )  # fmt: skip
    x = np.array([np.inf, 3.0, np.nan])
    found = plan.computed({"i": 3, "k": 3}, {"A": given}, {"x": encode(x, fmt)})
    wanted = matrix.tocsr() @ x
    assert np.isnan(wanted[1])
    assert np.array_equal(decode(found, fmt), wanted, equal_nan=True)


def test_a_union_with_infinities() -> None:
    """Elements of a union add both products at once; the one that is missing is none of zeros with
    x."""
    plan = made({"A": "ik", "B": "ik"}, {"x": "k"}, "i", merge="union", extents={"k": 2})
    fmt = FORMATS["fp32"]
    first, second = (
        Entries(shape=(2, 2), places=np.array(places), words=encode(np.ones(len(places)), fmt))
        for places in ([(0, 0), (1, 0), (1, 1)], [(0, 0)])
    )
    x = encode(np.array([np.inf, 1.0]), fmt)
    found = plan.computed({"i": 2, "k": 2}, {"A": first, "B": second}, {"x": x})
    assert decode(found, fmt).tolist() == [np.inf, np.inf]


def test_entries_that_do_not_ascend() -> None:
    """Two tensors cannot be merged then."""
    plan = made({"A": "ik", "B": "ik"}, {}, "i", merge="union", slots=2, extents={"k": 4})
    given = Entries(shape=(2, 4), places=np.array([(0, 1), (0, 2)]), words=np.ones(2, np.uint64))
    _, images = plan.images({"i": 2, "k": 4}, {"A": given, "B": given})
    size, content = plan.plan.entries[0].layout.bytes, bytearray(images[1].content)
    content[:size], content[size : 2 * size] = content[size : 2 * size], content[:size]
    turned = type(images[1])(content=bytes(content), steps=images[1].steps)
    with refused(ValueError, "image of B must have entries that ascend"):
        plan.decoded([images[0], turned])


def as_tensor(words: Any) -> Tensor:
    """Returns the words that are not None as a tensor in float64."""
    places = np.argwhere(np.frompyfunc(lambda one: one is not None, 1, 1)(words)).astype(np.int64)
    values = words[tuple(places.T)].astype(np.float64)
    return Tensor(shape=words.shape, indices=places, values=values)


@pytest.mark.parametrize("kernel", FORMS)
@pytest.mark.parametrize("seed", range(cases(30)))
def test_whole_numbers(kernel: str, seed: int) -> None:
    """Whole numbers are exact in any order, on every semiring. Hardly any tile divides the
    bounds."""
    rng = rng_of(seed)
    config = DrawnSparse(kernel=kernel, seed=seed)
    program = config.plan.program
    bounds = {name: int(rng.integers(1, 9)) for name in program.indices}
    operands = random_operands(program, bounds, seed)
    given = {
        name: as_tensor(words) if name in program.sparse else words.astype(np.float64)
        for name, words in operands.items()
    }
    found = Driver(T2sModel(config)).compute(bounds, **given)
    wanted = definition_result(program, bounds, operands)
    assert np.array_equal(found, wanted.astype(np.float64))
