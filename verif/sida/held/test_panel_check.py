"""What is read again of a panel beside what came by columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Cat, Elaboratable, Module, Signal
from amaranth.sim import Simulator
from tilewright.hw.sida.held.element_hash import HASH_BITS, element_hash
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.result.products import Columns
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.held.matrices import drawn, numbers
from tilewright.verif.sida.held.pass_bench import Pass, run_passes

pytestmark = pytest.mark.long

KINDS = ("value", "row", "column", "missing")
PLACE_BITS, VALUE_BITS = 20, 32
Bits = npt.NDArray[np.bool_]


def reference(places: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> Any:
    """The hash, bit by bit."""

    def bits(words: npt.NDArray[np.int64]) -> Bits:
        return (words[:, None] >> np.arange(HASH_BITS) & 1).astype(bool)

    def mixed(state: Bits) -> Bits:
        spread = state ^ np.roll(state, 13, axis=1) ^ np.roll(state, 21, axis=1)
        return spread ^ (~np.roll(spread, 1, axis=1) & np.roll(spread, 2, axis=1))

    state = mixed(bits(places) ^ bits(np.array([0x19E3779B9])))
    found = mixed(mixed(state ^ bits(values)))
    return found @ (1 << np.arange(HASH_BITS))


class _Hash(Elaboratable):
    def __init__(self) -> None:
        self.place, self.value = Signal(PLACE_BITS), Signal(VALUE_BITS)
        self.found = Signal(HASH_BITS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.found.eq(element_hash(m, "hash", Cat(self.place), self.value))
        return m


def some(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    values = rng.choice([0, 0x3F800000, 0x40000000, 0xBF800000, 1, 2], count)
    values = np.where(rng.random(count) < 0.5, values, rng.integers(1 << VALUE_BITS, size=count))
    return rng.integers(1 << PLACE_BITS, size=count), values


def test_hashes() -> None:
    places, values = some(np.random.default_rng(1), 200)
    found, part = [], _Hash()
    sim = Simulator(part)

    async def bench(ctx: Any) -> None:
        for place, value in zip(places.tolist(), values.tolist(), strict=True):
            ctx.set(part.place, place)
            ctx.set(part.value, value)
            found.append(ctx.get(part.found))

    sim.add_testbench(bench)
    sim.run()
    assert found == reference(places, values).tolist()


def test_one_value_has_one_hash() -> None:
    """At a place."""
    values = np.random.default_rng(2).permutation(1 << 18) << 14 | 5
    assert len(set(reference(np.full(1 << 18, 77), values).tolist())) == 1 << 18


def test_sums_tell_elements_apart() -> None:
    """Two elements whose values, or whose places, are exchanged or near each other's."""
    rng = np.random.default_rng(3)
    count = by_size(20_000, 20_000, 400_000)
    places, values = zip(*(some(rng, count) for _ in range(2)), strict=True)
    near = (places[0] + rng.integers(1, 5, count)) % (1 << PLACE_BITS)

    def total(*pairs: tuple[Any, Any]) -> Any:
        return sum(reference(*pair) for pair in pairs) % (1 << HASH_BITS)

    here = total((places[0], values[0]), (near, values[1]))
    exchanged = total((places[0], values[1]), (near, values[0]))
    moved = total((places[0], values[0]), ((near + 1) % (1 << PLACE_BITS), values[1]))
    assert (here != exchanged)[values[0] != values[1]].all()
    assert (here != moved).all()
    assert (here != total((places[0], values[0]))).all()


def small(**changes: Any) -> SidaConfig:
    given: dict[str, Any] = {
        "pes": 4, "subtensor": 4, "buffer_words": 64, "vector_words": 64, "value": "fp32",
        "semirings": ("mma",),
    }  # fmt: skip
    return SidaConfig(**{**given, **changes})


def changed(rng: np.random.Generator, matrix: Columns, kind: str) -> Columns:
    """Another matrix: of one element of the last rows the value, its row or its column, or it is
    not there."""
    dense = np.full((matrix.size, matrix.size), -1, np.int64)
    dense[matrix.rows, matrix.columns] = matrix.values.astype(np.int64)
    at = int(rng.choice(np.flatnonzero(matrix.rows >= 2 * matrix.size // 3)))
    row, column = int(matrix.rows[at]), int(matrix.columns[at])
    if kind == "value":
        dense[row, column] ^= 1 << int(rng.integers(16))
    elif kind == "row":
        other = int(rng.integers(matrix.size))
        dense[[row, other], column] = dense[[other, row], column]
    elif kind == "column":
        other = int(rng.integers(matrix.size))
        dense[row, [column, other]] = dense[row, [other, column]]
    else:
        dense[row, column] = -1
    columns, rows = np.nonzero(dense.T >= 0)
    return Columns(
        pointers=np.searchsorted(columns, np.arange(matrix.size + 1)).astype(np.int64),
        rows=rows.astype(np.int64),
        values=dense[rows, columns].astype(np.uint64),
    )


def first_wrong(config: SidaConfig, one: Columns, other: Columns, asked: list[int]) -> int | None:
    """Of the panels that were asked for, the first row of one with other late elements."""
    step = config.subtensor
    for panel in asked:
        late: list[Any] = []
        for matrix in (one, other):
            mine = matrix.rows // step == panel
            mine &= matrix.columns < (panel + 2) * step
            parts = (matrix.rows, matrix.columns, matrix.values)
            late.append(set(zip(*(part[mine].tolist() for part in parts), strict=True)))
        if late[0] != late[1]:
            return panel * step
    return None


@pytest.mark.parametrize("kind", slow_but([], KINDS, ["value", "missing"]))
def test_other_rows(kind: str) -> None:
    """Of one element; panels that were held, or have it behind the columns that count, do not
    disagree."""
    seen = set()
    for seed in range(by_size(1, 1, 40)):
        rng = np.random.default_rng(seed)
        config = small(pes=8, subtensor=8, buffer_words=256) if seed % 3 == 2 else small()
        matrix = drawn(rng, config, int(rng.integers(17, 30)), "half")
        other = changed(rng, matrix, kind)
        vector = numbers(rng, config, matrix.size)
        given = Pass(matrix=matrix, vector=vector, again=other)
        (found,) = run_passes(config, [given], gap=0.3 * (seed % 2), seed=seed)
        assert found.disagrees == first_wrong(config, matrix, other, found.asked)
        seen.add(found.disagrees is None)
    assert False in seen


def test_other_rows_in_another_pass() -> None:
    """Behind one that was good; with the transpose nothing is compared."""
    rng = np.random.default_rng(9)
    config = small()
    matrix = drawn(rng, config, 24, "half")
    good = Pass(matrix=matrix, vector=numbers(rng, config, 24))
    wrong = replace(good, again=replace(matrix, values=matrix.values ^ np.uint64(1)))
    before, found = run_passes(config, [good, wrong])
    assert (before.disagrees, found.disagrees) == (None, 4 * found.asked[0])
    (found,) = run_passes(config, [replace(wrong, transposed=True)])
    assert found.asked
    assert found.disagrees is None
