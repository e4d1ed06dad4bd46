"""The sizes of the tiles of a product, and an estimate of their cycles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ....hw.spec.gta import (
    ROWS,
    GtaConfig,
    element_bytes,
    is_float,
    limbs,
    result_bytes,
)
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import COMMAND_BYTES, lane_words
from ..regions import Region
from .segment_sums import bank_words


@dataclass(frozen=True, kw_only=True)
class Problem:
    """D = A B (+ C) as the array takes it: of IS A is the transposed B.

    Parameters
    ----------
    m, n, k: sizes
    format: of A and B
    operation: "ws" or "os"
    width: bytes of a result in the lanes
    segments: parts into which K is cut at least
    lateral, overlap: see ``FIELDS``
    """

    m: int
    n: int
    k: int
    format: str
    operation: str
    width: int
    segments: int = 1
    lateral: bool = True
    overlap: bool = True

    @cached_property
    def floats(self) -> bool:
        """True if the format is a floating-point one."""
        return is_float(self.format)

    @cached_property
    def limbs(self) -> int:
        """Rows and columns that an element takes."""
        return 1 if self.floats else limbs(self.format)

    @cached_property
    def element(self) -> int:
        """Bytes of an element of A and B."""
        return element_bytes(self.format)


_COMMANDS = 3
"""Commands of a tile: one LOAD for each operand, and an EXECUTE."""

_CHECK_CYCLES = 10
"""Approximate cycles of the check of a command, beside one for each lane and fold."""

_TAIL_CYCLES = 12
"""Approximate cycles from a fold's last sum to the end of its command."""

_ROUND_TRIP = 28
"""Approximate cycles from a burst's address to its data, of a memory that answers after 20."""

_LOAD_CYCLES = 45
"""Approximate cycles from when a LOAD may begin to its first beat in the lanes, of a memory that
answers after 20."""


@dataclass(frozen=True, kw_only=True)
class Tiling:
    """Tiles of a product on a region.

    Parameters
    ----------
    problem, region: what, and where
    config: see :class:`GtaConfig`
    row_folds, col_folds: of a tile
    m, n, k: elements of a tile
    slots: parts of each memory: of two one is filled, or emptied, while the other works
    sharers: regions at work like this one, which take turns on the bus
    """

    problem: Problem
    region: Region
    config: GtaConfig
    row_folds: int
    col_folds: int
    m: int
    n: int
    k: int
    slots: int = 2
    sharers: int = 1

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Tiles along M, N and K."""
        problem = self.problem
        return -(-problem.m // self.m), -(-problem.n // self.n), -(-problem.k // self.k)

    @cached_property
    def left_words(self) -> int:
        """Words of a fold of rows in each bank."""
        problem = self.problem
        if problem.operation == "ws":
            return bank_words(self.m * problem.element)
        return bank_words(self.k * (problem.element if problem.floats else 1))

    @cached_property
    def top_words(self) -> int:
        """Words of a fold of columns in each bank."""
        if self.problem.operation == "ws":
            return bank_words(self.row_folds * self.region.array[0])
        return self.left_words

    @cached_property
    def result_words(self) -> int:
        """Words of the results of a fold of columns in each bank."""
        problem = self.problem
        elements = self.row_folds * ROWS if problem.floats else -(-self.m // problem.limbs)
        return -(-bank_words(elements * problem.width) // 2) * 2

    @property
    def fits(self) -> bool:
        """True if every memory holds as many tiles as there are slots."""
        edge = lane_words(self.config, "left") // self.slots
        results = lane_words(self.config, "result") // self.slots // 2 * 2
        return (
            self.row_folds * self.left_words <= edge
            and self.col_folds * self.top_words <= edge
            and self.col_folds * self.result_words <= results
        )

    @property
    def execute_cycles(self) -> int:
        """About how many cycles of the array an EXECUTE of a whole tile takes."""
        problem, rows = self.problem, self.region.array[0]
        if problem.operation == "ws":
            fold = max(self.m * problem.limbs, rows)
        else:
            each = self.config.interval(problem.format) if problem.floats else 1
            fold = max(self.k * each, rows)
            if not (problem.floats or self.config.second_rank):
                fold = self.k + rows - 1
        return self.row_folds * self.col_folds * fold

    @property
    def cycles(self) -> int:
        """About how many cycles the product takes: of each EXECUTE the most of those of the array,
        of the bus, of the list of commands, and of its way round, for it frees what the LOAD of the
        one after the next fills; beside what nothing hides, the first operands, the last results,
        and results that wait while WS reads, in every cycle, the sums that it adds to."""
        problem, (rows, cols) = self.problem, self.region.array
        folds, array = self.row_folds * self.col_folds, self.execute_cycles
        m, n, k = self._most
        down, across, deep = self.counts
        tiles = down * across
        beat = beat_bytes(self.config)
        rows_loaded = n + (k if problem.operation == "ws" else m)
        stored = max(n * -(-m * result_bytes(problem.format) // beat), self._requested(n))
        stored *= self.sharers
        listed = _COMMANDS * -(-COMMAND_BYTES // beat)
        checked = self.sharers * (_COMMANDS * (_CHECK_CYCLES + self.config.lanes) + folds)
        loaded = max(self.load_beats + listed, self._requested(rows_loaded)) * self.sharers
        tail = 2 * rows + cols + _TAIL_CYCLES
        round_trip = array + tail + _LOAD_CYCLES + loaded
        beyond = tail + _LOAD_CYCLES + loaded + stored
        if self.slots == 1:
            return tiles * (deep * round_trip + stored) + beyond
        each_execute = max(array, loaded, checked, -(-round_trip // 2))
        late = max(0, stored - self._unread(deep * each_execute))
        return tiles * max(deep * each_execute, stored) + (tiles - 1) * late + beyond

    def _requested(self, rows: int) -> int:
        """Cycles in which so many rows are asked for, a burst each at least."""
        return -(-rows * _ROUND_TRIP // self.config.outstanding)

    def _unread(self, cycles: int) -> int:
        """Returns the cycles of a tile in which a STORE hardly waits for the array. WS with
        one-limb formats and results of 8 bytes reads each bank in every cycle; there these are the
        cycles of the first fold of rows, which begins sums."""
        problem = self.problem
        if problem.operation != "ws" or (problem.limbs, problem.width) != (1, 8):
            return cycles
        reading = self.m * (self.counts[2] * self.row_folds - 1) * self.col_folds
        return max(0, cycles - reading)

    @property
    def load_beats(self) -> int:
        """Beats of the operands of a tile; each row of a stream begins with one."""
        problem, beat = self.problem, beat_bytes(self.config)
        m, n, k = self._most
        along_k = -(-k * problem.element // beat)
        if problem.operation == "ws":
            return k * -(-m * problem.element // beat) + n * along_k
        return (m + n) * along_k

    @property
    def _most(self) -> tuple[int, int, int]:
        """M, N and K of the largest tile: the problem may be smaller than the folds."""
        problem = self.problem
        return min(self.m, problem.m), min(self.n, problem.n), min(self.k, problem.k)

    @property
    def loaded(self) -> int:
        """Beats that are loaded in all, of operands and of the list: of equals the one with the
        fewest is best."""
        down, across, deep = self.counts
        listed = _COMMANDS * -(-COMMAND_BYTES // beat_bytes(self.config))
        return down * across * deep * (self.load_beats + listed)
