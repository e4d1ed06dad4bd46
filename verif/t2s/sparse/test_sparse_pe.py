"""The processing element of entries beside exact arithmetic, at any pace of what is around it."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.hw.spec.t2s.arithmetic import LaneSum
from tilewright.hw.spec.t2s.sparse_parts import SparseElementPart
from tilewright.hw.t2s.sparse.sparse_pe import SparsePe
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.stream.agents import Sink, Source, run_agents
from tilewright.verif.t2s.sparse.element_work import (
    Work,
    element_of,
    random_entries,
    work_of,
)


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


class _Busy:
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
        self.dense = [
            Source(getattr(self.element, f"i_{name}"), words, gap=gap, seed=(seed, name))
            for name, words in work.words.items()
        ]
        self.results = Sink(self.element.o, stall=stall, seed=seed)
        self.busy = _Busy(self.element.busy)

    def run(self) -> None:
        run_agents(
            self.element,
            [self.tokens, *self.dense, self.results, self.busy],
            until=lambda sim, cycle: (
                len(self.results.words) >= len(self.work.results) and self.tokens.done
            ),
            most=20_000,
        )
        self.check()

    def check(self) -> None:
        assert self.results.words == self.work.results
        assert len(self.busy.cycles) == self.work.operations
        assert all(one.done for one in self.dense)


@pytest.mark.parametrize("name", slow_but(QUICK, PARTS))
def test_sums(name: str) -> None:
    """Tiles that are full, thin and empty; words come and go at random."""
    part = PARTS[name]
    entries = random_entries(part.layout.slots, 6, seed=list(name.encode()))
    work = work_of(part, entries, seed=7)
    for seed, (gap, stall) in enumerate([(0.0, 0.05), (0.1, 0.7), (0.5, 0.2)]):
        _Run(part, work, gap=gap, stall=stall, seed=seed).run()
