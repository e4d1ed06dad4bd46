"""The processing element of entries against exact arithmetic, at any pace of its surroundings."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.t2s.arithmetic import LaneSum
from tilewright.hw.spec.t2s.parts import Count, OperandPart
from tilewright.hw.spec.t2s.sparse_parts import SparseElementPart
from tilewright.hw.spec.t2s.timing import entry_begins, entry_timing
from tilewright.hw.t2s.sparse.fed_element import SparsePe
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but
from tilewright.verif.stream.agents import Agent, Each, Sink, Source, Wire, run_agents

from .element_work import (
    INNER,
    LAST,
    Entry,
    Work,
    element_of,
    random_entries,
    results_of_model,
    work_of,
)

pytestmark = pytest.mark.long


def _sums(
    format: str, accumulator: str, semiring: str = "mma", *, lanes: int = 1, pipeline: int = 4
) -> LaneSum:
    return LaneSum(
        lanes=lanes, format=format, accumulator=accumulator, ops=(semiring,), pipeline=pipeline
    )


FP16, FP32, INT8 = _sums("fp16", "fp32"), _sums("fp32", "fp32"), _sums("int8", "int32", pipeline=2)
PARTS: dict[str, SparseElementPart] = {
    "fp32 one sum": element_of(FP32, 1),
    "fp32 one sum, one half": element_of(FP32, 1, halves=1),
    "fp16": element_of(FP16, 5),
    "fp16 one half": element_of(FP16, 4, [2], halves=1),
    "fp16 many": element_of(FP16, 20),
    "fp16 ring": element_of(FP16, 3, [2, 3]),
    "fp16 many in rings": element_of(FP16, 6, [5], halves=1),
    "int8": element_of(INT8, 6, [3]),
    "int8 vector": element_of(INT8, 2, [2], vector=3),
    "int8 many": element_of(INT8, 32),
    "fp32 minplus": element_of(_sums("fp32", "fp32", "minplus"), 4),
    "fp16 minplus": element_of(_sums("fp16", "fp32", "minplus", pipeline=1), 3, [2]),
    "fp16 orand": element_of(_sums("fp16", "fp16", "orand"), 9, [2]),
    "fp16 vector": element_of(FP16, 4, [5], vector=2, dense=("x", "y"), scalars=("y",)),
    "no dense": element_of(FP16, 4, dense=()),
    "intersection": element_of(FP16, 4, values=("A", "B")),
    "intersection of words": element_of(INT8, 18, values=("A", "B"), dense=(), halves=1),
    "union": element_of(_sums("fp16", "fp32", lanes=2), 3, values=("A", "B"), union=True),
    "union of two": element_of(
        _sums("int8", "int32", lanes=2), 4, [2], values=("A", "B"), dense=("x", "A_B"), union=True
    ),
    "union minplus": element_of(
        _sums("fp32", "fp32", "minplus", lanes=2), 20, values=("A", "B"), union=True
    ),
}
QUICK = ("fp32 one sum", "fp16", "int8 many")
DEFAULT = ("fp32 one sum, one half", "fp16 many", "fp16 ring", "int8 vector", "fp16 minplus",
           "fp16 orand", "fp16 vector", "no dense", "intersection", "intersection of words",
           "union", "union of two")  # fmt: skip


class _Busy:
    """Notes the cycles in which operations begin."""

    def __init__(self, port: Any) -> None:
        self._port, self.cycles = port, list[int]()

    def drive(self, sim: Any, cycle: int) -> None: ...

    def observe(self, sim: Any, cycle: int) -> None:
        if sim.get(self._port):
            self.cycles.append(cycle)


class _Run:
    """An element between sources and a sink."""

    def __init__(
        self,
        part: SparseElementPart,
        work: Work,
        *,
        gap: float = 0.0,
        stall: float = 0.0,
        begin: int = 0,
        seed: int = 0,
    ) -> None:
        self.element, self.work = SparsePe(part), work
        self.tokens = Source(self.element.t, work.tokens, gap=gap, begin=begin, seed=(seed, "t"))
        self.dense = {
            name: Source(getattr(self.element, f"i_{name}"), words, gap=gap, seed=(seed, name))
            for name, words in work.words.items()
        }
        self.results = Sink(self.element.o, stall=stall, seed=seed)
        self.busy = _Busy(self.element.busy)

    def run(
        self,
        each: Callable[[int], None] = lambda cycle: None,
        *,
        reset_in: int | None = None,
        then: Work | None = None,
    ) -> None:
        """``reset_in``: the cycle of a reset from outside; after it all begins with ``then``."""
        reset = Signal()
        element: Any = self.element
        if reset_in is not None:
            element = ResetInserter(reset)(element)

        def restart(cycle: int) -> None:
            each(cycle)
            if reset_in is not None and then is not None and cycle == reset_in + 1:
                self._restart(then)

        agents: list[Agent] = [Each(restart), self.tokens, *self.dense.values(), self.results]
        run_agents(
            element,
            [*agents, self.busy, Wire(reset, lambda cycle: cycle == reset_in)],
            until=lambda sim, cycle: (
                (reset_in is None or cycle > reset_in)
                and len(self.results.words) >= len(self.work.results)
                and self.tokens.done
            ),
            most=20_000,
        )
        self.check()

    def _restart(self, work: Work) -> None:
        self.work = work
        sources = [(self.tokens, work.tokens)]
        sources += [(source, work.words[name]) for name, source in self.dense.items()]
        for source, words in sources:
            source.forget()
            source.words[:] = words
            source.cycles.clear()
        self.results.forget()
        self.results.words.clear()
        self.busy.cycles.clear()

    def check(self) -> None:
        assert self.results.words == self.work.results
        assert len(self.busy.cycles) == self.work.operations
        assert all(one.done for one in self.dense.values())


@pytest.mark.parametrize("name", slow_but(QUICK, PARTS, DEFAULT))
def test_sums(name: str) -> None:
    """Tiles are full, thin and empty; words arrive and leave at random."""
    part = PARTS[name]
    entries = random_entries(part.layout.slots, 6, seed=list(name.encode()))
    work = work_of(part, entries, seed=7)
    assert results_of_model(part, entries, work) == work.results
    for seed, (gap, stall) in enumerate([(0.0, 0.05), (0.1, 0.7), (0.5, 0.2)]):
        _Run(part, work, gap=gap, stall=stall, seed=seed).run()


def _drawn(rng: random.Random) -> SparseElementPart:
    """An element of any size, on the arithmetic of which nothing depends but its pipeline."""
    arithmetic = _sums("int8", "int32", pipeline=rng.choice([1, 2, 4, 8]))
    slots, halves = rng.choice([1, 2, 3, 5, 8, 17]), rng.choice([1, 2])
    ring = [rng.randrange(1, 4) for _ in range(rng.randrange(3))]
    values, dense = rng.choice([("A",), ("A", "B")]), rng.choice([(), ("x",)])
    return element_of(arithmetic, slots, ring, halves=halves, values=values, dense=dense)


@pytest.mark.parametrize("seed", slow_but(range(1), range(100), range(6)))
def test_drawn_elements(seed: int) -> None:
    """Elements have any number of sums. Results belong to the right tiles at any pace of the
    streams."""
    rng = rng_of(seed)
    part = _drawn(random.Random(seed))
    rows = None if seed % 2 else [int(rng.integers(part.layout.slots))]
    work = work_of(part, random_entries(part.layout.slots, 12, seed, rows=rows), seed)
    gap, stall = rng.choice([0.0, 0.2, 0.6]), rng.choice([0.0, 0.2, 0.8])
    _Run(part, work, gap=float(gap), stall=float(stall), seed=seed).run()


def _expected_cycles(
    part: SparseElementPart, entries: Sequence[Entry]
) -> tuple[list[int], list[int]]:
    """Returns the cycles in which tokens and results move if each moves as early as possible."""
    timing, sums = entry_timing(part), part.element.sums
    taken, results = list[int](), list[int]()
    rows: dict[int, int] = {}
    cycle, ended = 0, 0
    for entry in entries:
        # After a reset all sums are cleared; then a half must have left before it is entered.
        behind = (ended - part.halves + 1) * sums
        opens = max(sums, results[behind - 1] + 1 if behind > 0 else 0)
        if entry.slot is not None:
            begins = max(cycle, opens, rows.get(entry.slot, 0))
            rows[entry.slot] = begins + timing.again
            cycle = begins + part.ring_words - 1
        elif entry.ends & 1:
            cycle = max(cycle, opens)
            first = max(cycle + timing.drain, results[-1] + 1 if results else 0)
            results += range(first, first + sums)
            rows, ended = {}, ended + 1
        taken.append(cycle)
        cycle += 1
    return taken, results


@pytest.mark.parametrize("seed", slow_but(range(2), range(200), range(12)))
def test_cycles(seed: int) -> None:
    """All tokens and results move exactly in the cycles that entries and halves determine."""
    part = _drawn(random.Random(seed))
    rows = None if seed % 3 else [0]
    entries = random_entries(part.layout.slots, 8, seed, rows=rows)
    run = _Run(part, work_of(part, entries, seed))
    run.run()
    taken, results = _expected_cycles(part, entries)
    assert run.tokens.cycles == taken
    assert run.results.cycles == results


CASES = {
    "another row each": (element_of(FP16, 8), range(8), 1),
    "another row each, many": (element_of(FP16, 17), range(17), 1),
    "the same row": (element_of(FP16, 8), [3], 5),
    "the same row, many": (element_of(FP16, 17), [3], 6),
    "the same row, in two cycles": (element_of(FP16, 4, [2]), [3], 5),
    "the same row, in five cycles": (element_of(FP16, 2, [5]), [1], 5),
    "three rows in turn": (element_of(FP16, 8), range(3), 5 / 3),
    "pairs of a row": (element_of(FP16, 8), [n // 2 for n in range(16)], 3),
    "three factors": (element_of(FP16, 4, values=("A", "B")), [3], 5),
}


@pytest.mark.parametrize("name", slow_but(["the same row"], CASES))
def test_rates(name: str) -> None:
    """An entry a cycle while rows are far apart; of one row, one as often as a sum is known."""
    part, rows, cycles_of_entry = CASES[name]
    slots = [*rows] * (48 // len(rows))
    begins = entry_begins(part, [*slots, None])
    run = _Run(part, work_of(part, [*map(Entry, slots), LAST], seed=3), begin=50)
    run.run()
    operations = run.busy.cycles[:: part.ring_words]
    assert [cycle - 50 for cycle in operations] == begins[:-1]
    assert run.tokens.cycles[-1] - 50 == begins[-1]
    period = len(rows)
    assert begins[period * 2] - begins[period] == pytest.approx(cycles_of_entry * period, abs=0)


@pytest.mark.parametrize("halves", [1, 2])
def test_results_wait_while_other_sums_go_on(halves: int) -> None:
    """While no result is accepted, the element computes one tile per half."""
    part = element_of(INT8, 6, halves=halves)
    entries = [Entry(3), Entry(4), LAST] * 4
    run = _Run(part, work_of(part, entries, seed=5), stall=1.0)
    begun = []

    def release(cycle: int) -> None:
        if cycle == 100:
            begun.append((len(run.busy.cycles), len(run.tokens.cycles)))
            run.results.stall = 0.0

    run.run(each=release)
    assert begun == [(2 * halves, 3 * halves)]


def test_tokens_that_say_nothing_never_wait() -> None:
    """Tokens that end no iteration of the outermost level do not wait either."""
    part = element_of(INT8, 6, halves=1)
    entries = [Entry(0), LAST, *[Entry(), INNER] * 5, LAST, Entry(2), LAST]
    run = _Run(part, work_of(part, entries, seed=5), stall=1.0)
    taken = []

    def release(cycle: int) -> None:
        if cycle == 40:
            taken.append(len(run.tokens.cycles))
            run.results.stall = 0.0

    run.run(each=release)
    assert taken == [12]


RESET = {
    "few": element_of(FP16, 4, [2]),
    "many": element_of(INT8, 9, [2]),
    "one half": element_of(INT8, 3, [2], halves=1),
    "one sum": element_of(FP16, 1),
}


@pytest.mark.parametrize("name", slow_but(["few"], RESET, ["many"]))
def test_a_reset_forgets_what_is_under_way(name: str) -> None:
    """The reset may arrive while operations run, results wait or sums are cleared. Afterwards the
    element works as from the start."""
    part = RESET[name]
    before, after = (
        work_of(part, random_entries(part.layout.slots, 8, seed=[9, n]), seed=n) for n in range(2)
    )
    for cycle in range(3, 80, by_size(40, 9, 1)):
        run = _Run(part, before, gap=0.05, stall=0.6, seed=cycle)
        run.run(reset_in=cycle, then=after)


READ = ("fp16 many", "fp16 vector", "intersection", "union of two", "fp32 one sum, one half")


@pytest.mark.parametrize("tool", slow_but(["verilator"], FRONT_ENDS, ["slang"]))
@pytest.mark.parametrize("name", slow_but(["fp16 many"], READ, ["fp16 vector"]))
def test_other_tools_read_the_text(name: str, tool: str, tmp_path: Path) -> None:
    text = emit_component(SparsePe(PARTS[name]), name="element").verilog
    assert complaints(tool, text, "element", tmp_path) == ""


@pytest.mark.parametrize("slots", slow_but([], [2, 17]))
def test_where_an_entry_is_long_nothing_is_compared(slots: int) -> None:
    """There is a scoreboard if an operation may meet another one of the same sum, else none."""
    again = {2: 5, 17: 6}[slots]
    for ring in (again - 1, again):
        part = element_of(FP16, slots, [ring])
        assert entry_timing(part).again == again
        text = emit_component(SparsePe(part), name="element").verilog
        assert ("scoreboard" in text) == (ring < again)


START = OperandPart("x", 1, starts=True)
WRONG = {
    "`sums` must be 5, not 4": replace(
        PARTS["fp16"], element=replace(PARTS["fp16"].element, sums=4)
    ),
    "`halves` must be 1 or 2, not 3": replace(PARTS["fp16"], halves=3),
    "`lanes` must be 1, not 2": replace(PARTS["union"], union=False),
    "`inner` must be all operands, A, x, not A": replace(
        PARTS["fp16"], element=replace(PARTS["fp16"].element, inner=("A",))
    ),
    "`vector` of a union must be 1, not 2": element_of(
        PARTS["union"].element.arithmetic, 2, values=("A", "B"), vector=2, union=True
    ),
    "the trip count of j must be a constant, not a register's": replace(
        PARTS["fp16"], ring=(Count("j", None),)
    ),
    "sums of entries must start from the identity, not x": replace(
        PARTS["fp16"],
        element=replace(PARTS["fp16"].element, operands=(PARTS["fp16"].element.operands[0], START)),
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_refusals(message: str) -> None:
    assert refusal(lambda: SparsePe(WRONG[message])) == message
