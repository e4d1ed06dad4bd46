"""The late part of the second product, bit for bit, for any buffer and any timing."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Cat, Elaboratable, Module, Signal
from amaranth.sim import Simulator
from tilewright.hw.sida.held.held_elements import SETS
from tilewright.hw.sida.held.late_elements import Scatter, scatter_layout, scattered_layout
from tilewright.hw.sida.held.panel_check import HASH_BITS, element_hash
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.result.products import Columns
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.held.matrices import SHAPES, drawn, numbers
from tilewright.verif.sida.held.pass_bench import Pass, Seen, drawn_passes, run_passes
from tilewright.verif.stream.agents import Sink, Source, run_agents

pytestmark = pytest.mark.long


def small(**changes: Any) -> SidaConfig:
    given: dict[str, Any] = {
        "pes": 4,
        "subtensor": 4,
        "buffer_words": 64,
        "vector_words": 64,
        "value": "fp32",
        "semirings": ("mma",),
    }
    return SidaConfig(**{**given, **changes})


DEVICES = {
    "tiny": small(),
    "ample": small(subtensor=8, buffer_words=4096),
    "semirings": small(value="int32", semirings=("mma", "minplus", "orand"), adder_stages=1),
    "fp16": small(subtensor=8, buffer_words=128, value="fp16", multiplier_stages=1),
    "one panel": small(subtensor=64, adder_stages=2),
    "eight": small(pes=8, subtensor=8, buffer_words=256),
}
EVERY = slow_but(["tiny"], DEVICES, ["tiny", "semirings"])


def ran(config: SidaConfig, given: list[Pass], **others: Any) -> list[Seen]:
    seen = run_passes(config, given, **others)
    for one, found in zip(given, seen, strict=True):
        late = one.matrix.rows // config.subtensor + 2 > one.matrix.columns // config.subtensor
        late |= one.transposed
        assert found.counts["most"] <= min(config.buffer_words, int(late.sum()))
    return seen


@pytest.mark.parametrize("name", EVERY)
def test_the_sums_are_the_model_s(name: str) -> None:
    """Passes one after the other, with gaps and without."""
    config = DEVICES[name]
    for seed in range(by_size(1, 1, 4)):
        rng = np.random.default_rng(seed)
        names = list(SHAPES) if by_size(0, 0, 1) else ["hubs", "band", "lower", "empty"]
        given = drawn_passes(config, seed, names, int(rng.integers(17, 30)))
        ran(config, given, gap=0.3 * (seed % 2 == 0), seed=seed)


def test_a_size_of_one_and_less_than_a_step() -> None:
    config = small(subtensor=8)
    for size in by_size([9], [9], [1, 2, 7, 9]):
        ran(config, drawn_passes(config, size, ["dense"], size), gap=0.2)


@pytest.mark.parametrize("name", EVERY)
def test_the_sums_of_the_transpose(name: str) -> None:
    """The sums are the model's, also after a pass of the other kind. First values from elsewhere
    have no effect."""
    config = DEVICES[name]
    for seed in range(by_size(1, 1, 4)):
        rng = np.random.default_rng(seed)
        names = list(SHAPES) if by_size(0, 0, 1) else ["upper", "dense", "empty"]
        size = int(rng.integers(13, 22))
        given = drawn_passes(config, seed, names, size, transposed=True)
        ran(config, [*given, *drawn_passes(config, seed, ["hubs"], size), given[0]],
            gap=0.3 * (seed % 2 == 0), seed=seed)  # fmt: skip


def test_elements_of_the_transpose_wait_a_few_steps() -> None:
    """Elements of up to three steps are buffered, so none is evicted where the buffer has
    capacity."""
    config = small(buffer_words=512)
    given = drawn_passes(config, 3, ["half"], 27, transposed=True)
    (found,) = ran(config, given)
    steps = np.bincount(given[0].matrix.columns // config.subtensor)
    assert found.asked == []
    assert found.counts["most"] <= np.convolve(steps, np.ones(3, int)).max()


@pytest.mark.slow
def test_nothing_is_lost_where_there_is_space() -> None:
    """A buffer of four words per bank evicts panels; the pass requests them in ascending order, up
    to the highest."""
    shape = ["half"]
    ample = small(buffer_words=1024)
    (found,) = ran(ample, drawn_passes(ample, 1, shape, 20))
    assert found.asked == []
    least = small(buffer_words=64)
    (found,) = ran(least, drawn_passes(least, 1, shape, 20))
    assert found.asked
    assert found.asked == sorted(found.asked)
    assert found.asked[-1] == 19 // least.subtensor
    assert found.ahead > 2


@pytest.mark.slow
def test_a_clear_forgets_everything() -> None:
    """The clear may arrive in any cycle; afterwards the part works as from the start."""
    config = small()
    for at in by_size([150], [150], list(range(1, 330, 7))):
        given = drawn_passes(config, at, ["hubs"], 22, clear_at=at, transposed=at % 2 == 0)
        given += drawn_passes(config, at + 1, ["band"], 18)
        ran(config, given, gap=0.2, seed=at)


# Tests that compare the refetched elements of a panel with those that arrived by columns.

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
    """Different values at one place have different hashes."""
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
    """Returns the first row of the first requested panel whose late elements differ."""
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
    """One element differs. Panels do not disagree if they stay on chip, or if the element is after
    the last column that counts."""
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
    """Such a pass follows a good one; with the transpose no rows are compared."""
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


# Elements of sets to banks: each in its order, and a set a cycle where columns are long.

NUMBER_BITS = 16
Set = tuple[list[tuple[int, int]], bool]
"""Leaves with an element, and its bank; whether there is a mark."""


def run(width: int, window: int, sets: list[Set], gap: float, stall: float) -> float:
    """Elements carry their numbers; each bank gets its own, and all marks behind those before them.
    Returns sets a cycle."""
    layout = scatter_layout(NUMBER_BITS, width)
    words, expected, number = [], [[] for _ in range(width)], 0  # type: ignore[var-annotated]
    for leaves, mark in sets:
        content: list[dict[str, int]] = [{} for _ in range(width)]
        for leaf, bank in leaves:
            content[leaf] = {"valid": 1, "bank": bank, "payload": number}
            expected[bank].append(number)
            number += 1
        if mark:
            for bank in range(width):
                expected[bank].append("mark")
        fields: Any = {"mark": mark, "leaves": content}
        words.append(layout.const(fields).as_bits())
    part = Scatter(NUMBER_BITS, width, window)
    source = Source(part.i, words, gap=gap, seed="sets")
    sinks = [Sink(port, stall=stall, seed=n) for n, port in enumerate(part.o)]

    def found() -> list[list[Any]]:
        banks: list[list[Any]] = []
        for sink in sinks:
            banks.append([])
            for word in sink.words:
                sent: Any = scattered_layout(NUMBER_BITS).from_bits(word)
                assert sent.present or sent.mark
                banks[-1] += [sent.payload] * sent.present + ["mark"] * sent.mark
        return banks

    # Each transfer brings an element, or a mark alone; marks come with the element before them.
    def until(sim: Any, cycle: int) -> bool:
        return source.done and cycle - source.cycles[-1] > 20 + 2 * width * (window + 2)

    run_agents(part, [source, *sinks], until=until)
    assert found() == expected
    return len(sets) / (source.cycles[-1] - source.cycles[0] + 1)


@pytest.mark.parametrize("width", slow_but([4], [4, 8]))
def test_every_bank_gets_its_elements_in_order(width: int) -> None:
    for seed in range(by_size(2, 4, 40)):
        rng = random.Random(seed)
        few = rng.choice([1, 2, width])
        banks = rng.sample(range(width), few)
        sets: list[Set] = [
            (
                [(n, rng.choice(banks)) for n in range(width) if rng.random() < 0.7],
                rng.random() < 0.2,
            )
            for _ in range(40)
        ]
        run(width, rng.choice([2, 4]), sets, gap=0.3 * (seed % 2), stall=0.2 * (seed % 3))


def places(rng: np.random.Generator, kind: str, size: int) -> npt.NDArray[np.int64]:
    """Rows and columns of a matrix with eight elements a column or more, by columns."""
    columns = []
    hubs = rng.permutation(1 / (np.arange(size) + 10.0))
    for j in range(size):
        if kind == "dense":
            rows = np.arange(size)
        elif kind == "banded":
            rows = np.arange(max(0, j - 8), min(size, j + 9))
        else:
            power = kind == "power law"
            count = min(size, int(8 * (1 - rng.random()) ** -0.7)) if power else rng.integers(8, 24)
            rows = np.sort(rng.choice(size, count, replace=False, p=hubs / hubs.sum()
                                      if power else None))  # fmt: skip
        columns.append(np.stack([rows, np.full(len(rows), j)]))
    return np.concatenate(columns, axis=1).astype(np.int64)


@pytest.mark.parametrize("step", slow_but([], [16, 64], [64]))
@pytest.mark.parametrize("kind", ["dense", "banded", "power law", "random"])
def test_a_set_a_cycle(kind: str, step: int) -> None:
    """The sets have 16 elements, each in the bank of its column and panel."""
    width = 16
    rng = np.random.default_rng(1)
    rows, columns = places(rng, kind, 128 if kind == "dense" else 512)
    late = rows // step + 2 > columns // step
    banks = (columns + rows // step) % width
    most = by_size(150, 150, 600)
    sets: list[Set] = []
    for first in range(0, min(len(rows), most * width), width):
        part = range(first, min(first + width, len(rows)))
        sets.append(([(n % width, int(banks[n])) for n in part if late[n]], False))
    given = [one for one in sets if one[0]]
    assert run(width, SETS, given, 0, 0) >= 0.95
