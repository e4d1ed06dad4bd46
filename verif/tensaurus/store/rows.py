"""Simulates the rows of the array at the inputs of the store side."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

from amaranth.hdl import Value
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.tensaurus.layouts import job_layout, tile_layout
from tilewright.hw.tensaurus.store.matrix_store import MatrixStore
from tilewright.sim.tensaurus.result.kernel import Kernel


@dataclass
class Given:
    """A tile, and what each row gives of it: (slice, vector, values of the unit)."""

    slices: int
    last: bool
    output: int
    rows: list[list[tuple[int, int, list[int]]]]


@dataclass
class Rows:
    """An agent that replaces the rows of the array; ``stall``: share of idle cycles.

    What leaves a row is at the store two cycles later.
    """

    dut: MatrixStore
    config: TensaurusConfig
    tiles: list[Given]
    stall: float = 0.0
    seed: int = 0
    opened: int = 0
    at: int = 0
    cycles: list[int] = field(default_factory=list)
    stopped: bool = False

    def __post_init__(self) -> None:
        self._random = Random(f"{self.seed}")
        self._late: list[int] = [0] * self.config.cols
        self._travelling: list[list[int]] = [[] for _ in range(self.config.cols)]
        self._rest()
        self._begin()

    def forget(self) -> None:
        """Returns to the state after a stop: nothing is in flight, no tile is open, and the first
        is next."""
        self._rest()
        self.at = self.opened = 0
        self._begin()

    def _rest(self) -> None:
        """Clears the units in flight."""
        self._ahead: deque[tuple[int, Any, int]] = deque([(0, None, 0)] * 2)

    def _begin(self) -> None:
        if self.at < len(self.tiles):
            self._left = [list(row) for row in self.tiles[self.at].rows]
            self._ended = [False] * self.config.rows

    def drive(self, sim: Any, cycle: int) -> None:
        config, vector_bits = self.config, self.config.vlen * self.config.sum_format.bits
        drained, unit = 0, 0
        given: tuple[int, int, list[int]] | None = None
        if self.stopped:
            self.forget()
        if self.at < self.opened and not self.stopped:
            for row, left in enumerate(self._left):
                if not left and not self._ended[row]:
                    self._ended[row] = True
                    drained |= 1 << row
            choices = [row for row, left in enumerate(self._left) if left]
            if choices and not sim.get(self.dut.hold) and self._random.random() >= self.stall:
                row = self._random.choice(choices)
                given = self._left[row].pop(0)
                unit = sum(v << n * config.sum_format.bits for n, v in enumerate(given[2]))
                self.cycles.append(cycle)
                if not self._left[row]:
                    self._ended[row] = True
                    drained |= 1 << row
            if all(self._ended):
                self.at += 1
                self._begin()
        sim.set(self.dut.leaves, int(given is not None))
        self._ahead.append((drained, given, unit))
        drained, given, unit = self._ahead.popleft()
        sim.set(self.dut.drained, drained)
        sim.set(self.dut.drain.valid, int(given is not None))
        if given is not None:
            sim.set(self.dut.drain.slice, given[0])
            sim.set(self.dut.drain.vector, given[1])
        word = 0
        for column, travelling in enumerate(self._travelling):
            vector = unit >> column * vector_bits & ((1 << vector_bits) - 1)
            # Anything where nothing is given.
            travelling.append(vector if given else self._random.getrandbits(vector_bits))
            if len(travelling) > column:
                word |= travelling.pop(0) << column * vector_bits
        sim.set(Value.cast(self.dut.drain_data), word)

    def observe(self, sim: Any, cycle: int) -> None:
        self.opened += sim.get(self.dut.open)


def job_word(config: TensaurusConfig, kernel: Kernel, *, direct: bool = False) -> int:
    """The job's registers, packed."""
    return (
        job_layout(config)
        .const(
            {
                "kernel": kernel.number,
                "order": kernel.order,
                "vectors": kernel.vectors,
                "scalars_1": kernel.scalars[0],
                "scalars_2": kernel.scalars[1],
                "direct": direct,
            }
        )
        .as_value()
        .value
    )


def tile_bits(config: TensaurusConfig, tiles: list[Given]) -> list[int]:
    """The tiles of a job, packed."""
    return [
        tile_layout(config)
        .const(
            {
                "slices": tile.slices,
                "last": tile.last,
                "output": tile.output,
                "final": number == len(tiles) - 1,
            }
        )
        .as_value()
        .value
        for number, tile in enumerate(tiles)
    ]
