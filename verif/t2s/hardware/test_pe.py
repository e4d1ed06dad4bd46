"""The processing element against exact arithmetic, at any pace of its surroundings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.t2s.arithmetic import LaneSum
from tilewright.hw.spec.t2s.parts import ElementPart
from tilewright.hw.spec.t2s.timing import FEW_SUMS, interval_of
from tilewright.hw.t2s.pe import Pe
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.stream.agents import Agent, Each, Sink, Source, Wire, run_agents
from tilewright.verif.t2s.hardware.elements import (
    Operations,
    RegisteredPe,
    part_of,
    random_operations,
)

pytestmark = pytest.mark.long


def _lanes(
    lanes: int,
    format: str,
    accumulator: str,
    semiring: str = "mma",
    pipeline: int = 4,
) -> LaneSum:
    return LaneSum(
        lanes=lanes,
        format=format,
        accumulator=accumulator,
        ops=(semiring,),
        pipeline=pipeline,
    )


ROUNDS = (3, 1, 2, 4, 1, 1, 7, 2)
"""Operations of a sum."""

FACTORED: dict[str, Any] = {"inner": ("A", "C"), "outer": ("B",)}
THREE = ("A", "B", "C")
PARTS: dict[str, ElementPart] = {
    "int8": part_of(_lanes(4, "int8", "int32"), 16),
    "int8 scalar": part_of(_lanes(3, "int8", "int32", pipeline=2), 5, scalars=("B",)),
    "fp16": part_of(_lanes(3, "fp16", "fp32"), 5),
    "fp16 deep": part_of(_lanes(8, "fp16", "fp32"), 64),
    "bf16 one sum": part_of(_lanes(1, "bf16", "fp32", pipeline=1), 1),
    "fp32": part_of(_lanes(3, "fp32", "fp32"), 16),
    "fp32 six stages": part_of(_lanes(1, "fp32", "fp32", pipeline=6), 2),
    "fp32 eight stages": part_of(_lanes(3, "fp32", "fp32", pipeline=8), 9),
    "fp64 nine stages": part_of(_lanes(2, "fp64", "fp64", pipeline=9), 4, inner=["A"]),
    "minplus nine stages": part_of(_lanes(3, "fp32", "fp32", "minplus", pipeline=9), 16),
    "maxmul eight stages": part_of(_lanes(2, "fp32", "fp32", "maxmul", pipeline=8), 17),
    "orand nine stages": part_of(_lanes(4, "fp16", "fp16", "orand", pipeline=9), 3),
    "int16 eight stages": part_of(_lanes(2, "int16", "int32", pipeline=8), 9),
    "fp64": part_of(_lanes(1, "fp64", "fp64"), 17),
    "minplus": part_of(_lanes(3, "fp32", "fp32", "minplus"), 16),
    "minplus int32": part_of(_lanes(4, "int32", "int32", "minplus"), 2),
    "maxmin": part_of(_lanes(2, "fp16", "fp16", "maxmin"), 8),
    "maxmul int8": part_of(_lanes(2, "int8", "int32", "maxmul"), 7),
    "orand": part_of(_lanes(8, "fp16", "fp16", "orand"), 16),
    "words": part_of(_lanes(4, "fp16", "fp32"), 8, inner=["A"]),
    "least word": part_of(_lanes(4, "fp32", "fp32", "minplus"), 3, inner=["A"]),
    "factored": part_of(_lanes(4, "fp16", "fp32"), 64, **FACTORED),
    "factored int8": part_of(_lanes(3, "int8", "int32"), 2, **FACTORED),
    "factored minplus": part_of(_lanes(2, "fp16", "fp32", "minplus"), 5, **FACTORED),
    "factored twice": part_of(_lanes(3, "fp16", "fp32"), 16, inner=("A", "C"), outer=("B", "D")),
    "started": part_of(_lanes(4, "fp16", "fp32"), 16, start="T"),
    "started int8": part_of(_lanes(2, "int8", "int32"), 5, start="T"),
    "started one sum": part_of(_lanes(1, "fp32", "fp32"), 1, start="T"),
    "started words": part_of(_lanes(2, "fp32", "fp32", "minplus"), 3, inner=["A"], start="T"),
    "started orand": part_of(_lanes(4, "fp16", "fp16", "orand"), 3, start="T"),
    "started factored": part_of(_lanes(2, "fp16", "fp32"), 17, **FACTORED, start="T"),
    "factored eight stages": part_of(
        _lanes(2, "fp32", "fp32", pipeline=8), 16, **FACTORED, start="T"
    ),
    "three eight stages": part_of(_lanes(2, "fp16", "fp32", pipeline=8), 9, inner=THREE, start="T"),
    "three": part_of(_lanes(2, "fp16", "fp32"), 17, inner=THREE, scalars=("B",)),
    "three int8": part_of(_lanes(3, "int8", "int32"), 5, inner=THREE, start="T"),
    "three int16": part_of(_lanes(1, "int16", "int32"), 2, inner=THREE, vector=2),
    "three fp64": part_of(_lanes(2, "fp64", "fp64", pipeline=1), 3, inner=THREE),
    "vector": part_of(_lanes(1, "fp16", "fp32"), 5, vector=3, scalars=("A",)),
    "vector int8": part_of(_lanes(1, "int8", "int32"), 17, vector=2, scalars=("B", "T"), start="T"),
    "vector maxplus": part_of(
        _lanes(1, "fp16", "fp32", "maxplus"), 2, vector=4, scalars=("B",), start="T"
    ),
}
DRAINED = ("int8", "fp16", "bf16 one sum", "fp32 six stages", "fp64", "factored", "factored int8",
           "started", "vector")  # fmt: skip
"""Elements that also have a variant whose sums leave before others begin."""

PARTS |= {f"{name}, drained": replace(PARTS[name], overlaps=False) for name in DRAINED}
QUICK = ("int8", "fp16", "factored int8", "started int8", "fp16, drained")
LONG = ("fp32 six stages", "maxmul int8", "started words", "vector maxplus", "three fp64")


class _Busy:
    """Counts the cycles in which products begin."""

    def __init__(self, port: Any) -> None:
        self._port, self.cycles = port, 0

    def drive(self, sim: Any, cycle: int) -> None: ...

    def observe(self, sim: Any, cycle: int) -> None:
        self.cycles += sim.get(self._port)


class _Run:
    """An element between sources and sinks."""

    def __init__(
        self,
        part: ElementPart,
        operations: Operations,
        *,
        gap: float = 0.0,
        stall: float = 0.0,
        result_stall: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.element = RegisteredPe(part)
        self.operations = operations
        self.sources = {
            name: Source(getattr(self.element, f"i_{name}"), words, gap=gap, seed=(seed, name))
            for name, words in operations.words.items()
        }
        self.passed_on = {
            name: Sink(getattr(self.element, name), stall=stall, seed=(seed, name))
            for name in self.element.passed_on
        }
        self.results = Sink(self.element.o, stall=result_stall, seed=seed)
        self.busy = _Busy(self.element.busy)

    def run(
        self, each: Callable[[int], None] = lambda cycle: None, reset_in: int | None = None
    ) -> None:
        """``reset_in``: the cycle of a reset from outside, besides that at first."""
        reset = Signal()
        element: Any = self.element
        if reset_in is not None:
            element = ResetInserter(reset)(element)
        agents: list[Agent] = [Each(each), *self.sources.values(), *self.passed_on.values()]
        count = len(self.operations.results)
        run_agents(
            element,
            [*agents, self.results, self.busy, Wire(reset, lambda cycle: cycle == reset_in)],
            until=lambda sim, cycle: (
                len(self.results.words) >= count
                and all(
                    len(one.words) >= len(self.operations.words[self.element.passed_on[name]])
                    for name, one in self.passed_on.items()
                )
            ),
            most=20_000,
        )
        self.check()

    @property
    def taken(self) -> int:
        return len(next(iter(self.operations.words.values())))

    def check(self) -> None:
        assert self.results.words == self.operations.results
        for name, sink in self.passed_on.items():
            assert sink.words == self.operations.words[self.element.passed_on[name]]
        assert self.busy.cycles == self.taken


@pytest.mark.parametrize("name", slow_but(QUICK, PARTS, [one for one in PARTS if one not in LONG]))
def test_sums(name: str) -> None:
    """Sums have several lengths; words arrive and leave at random."""
    part = PARTS[name]
    many = part.sums > FEW_SUMS
    operations = random_operations(part, [2, 1] if many else ROUNDS[: 24 // part.sums + 2], seed=7)
    paces = [(0.05, 0.05, 0.8), (0.3, 0.3, 0.2)]
    for seed, (gap, stall, result_stall) in enumerate(paces[: 1 if many else 2]):
        run = _Run(part, operations, gap=gap, stall=stall, result_stall=result_stall, seed=seed)
        run.run()


def _spans(cycles: list[int]) -> int:
    return cycles[-1] - cycles[0] + 1


@pytest.mark.parametrize("sums", slow_but([FEW_SUMS + 1], [5, 6, FEW_SUMS, FEW_SUMS + 1]))
def test_an_operation_a_cycle(sums: int) -> None:
    """If there are at least as many sums as cycles per sum, plus one, no operation waits until the
    last result."""
    part = part_of(_lanes(1, "fp16", "fp32"), sums)
    operations = random_operations(part, [2, 3], seed=sums)
    run = _Run(part, operations)
    assert run.element.pe.latency == 4
    assert interval_of(part) == (1, 1)
    run.run()
    assert [_spans(one.cycles) for one in run.sources.values()] == [5 * sums, 5 * sums]
    first = run.sources["A"].cycles[0] + sums + 4
    assert run.results.cycles[0] == first + (2 if sums > FEW_SUMS else 1)


@pytest.mark.parametrize("sums", slow_but([2], [1, 2, 3, 4]))
def test_few_sums_hold_operations_back(sums: int) -> None:
    """A round has one operation per sum, and takes one cycle more than a sum does."""
    part = part_of(_lanes(1, "fp16", "fp32"), sums)
    operations = random_operations(part, [12], seed=sums)
    run = _Run(part, operations)
    run.run()
    assert run.sources["A"].cycles[sums * 11] - run.sources["A"].cycles[0] == 11 * 5
    assert interval_of(part) == (sums, 5)


@pytest.mark.parametrize("sums", slow_but([5], [1, 5, FEW_SUMS + 1]))
def test_sums_leave_before_others_begin(sums: int) -> None:
    """A sum a cycle, from the one after the last is known; then an operation in the next."""
    part = replace(part_of(_lanes(1, "fp16", "fp32"), sums), overlaps=False)
    run = _Run(part, random_operations(part, [2, 2], seed=sums))
    run.run()
    begun, left = run.sources["A"].cycles, run.results.cycles
    known = begun[2 * sums - 1] + run.element.pe.latency
    assert left[:sums] == list(range(known + 1, known + 1 + sums))
    assert begun[2 * sums] == left[sums - 1] + 1


def test_results_wait_while_sums_go_on() -> None:
    """The element stores all results of a round; only the completion of a further sum waits."""
    part = part_of(_lanes(1, "int8", "int32"), 16)
    operations = random_operations(part, [1, 3, 2], seed=5)
    run = _Run(part, operations, result_stall=1.0)
    begun = []

    def release(cycle: int) -> None:
        if cycle == 100:
            begun.append(len(run.sources["A"].cycles))
            run.results.stall = 0.0

    run.run(each=release)
    assert begun == [16 + 2 * 16]


def test_a_reset_forgets_what_is_under_way() -> None:
    """The reset arrives while operations run and results wait. Afterwards the element works as from
    the start."""
    part = part_of(_lanes(2, "fp16", "fp32"), FEW_SUMS + 1)
    operations = random_operations(part, [1, 2], seed=6)
    run = _Run(part, operations, gap=0.1, stall=0.1, result_stall=0.7)
    ports: list[Source | Sink] = [*run.sources.values(), *run.passed_on.values(), run.results]

    def restart(cycle: int) -> None:
        # All of it is under way: operands in registers, sums in the pipeline, results that wait.
        if cycle == 40:
            assert 3 < len(run.results.words) + 3 < len(run.sources["A"].cycles)
        if cycle == 41:
            run.busy.cycles = 0
            for one in ports:
                one.forget()
            for name, source in run.sources.items():
                source.words[:] = operations.words[name]
                source.cycles.clear()
            for sink in (*run.passed_on.values(), run.results):
                sink.words.clear()

    run.run(each=restart, reset_in=40)


READ = (
    "fp16 deep",
    "factored twice",
    "factored minplus",
    "words",
    "started factored",
    "vector int8",
    "three",
)


@pytest.mark.parametrize("tool", slow_but(["verilator"], FRONT_ENDS, ["slang"]))
@pytest.mark.parametrize("name", slow_but(["fp16 deep"], READ, ["factored twice"]))
def test_other_tools_read_the_text(name: str, tool: str, tmp_path: Path) -> None:
    text = emit_component(Pe(PARTS[name]), name="element").verilog
    assert complaints(tool, text, "element", tmp_path) == ""


def test_refusals() -> None:
    four = part_of(_lanes(2, "fp16", "fp32"), 4, inner=(*THREE, "D"))
    assert refusal(lambda: Pe(four)) == (
        "`inner` must be 1 to 3 operands, not A, B, C, D: factor one out of the sum over lanes"
    )
    three = part_of(_lanes(2, "fp16", "fp32"), 4, inner=THREE, outer=("D",))
    assert refusal(lambda: Pe(three)) == (
        "`inner` must be 1 to 2 operands, not A, B, C: factor one out of the sum over lanes"
    )
