"""How large the tiles of a product are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ....hw.spec.gta import (
    LEFT_WORD_BYTES,
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

__all__ = ["Problem", "Tiling", "tilings"]

_MOST_FOLDS = 8

_COMMANDS = 3
"""Of a tile: an operand's LOAD each, and an EXECUTE."""

_CHECK_CYCLES = 10
"""That the check of a command takes, about, beside one for each lane and fold."""


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

    @property
    def floats(self) -> bool:
        """Whether the format is a floating-point one."""
        return is_float(self.format)

    @property
    def limbs(self) -> int:
        """Rows and columns that an element takes."""
        return 1 if self.floats else limbs(self.format)

    @property
    def element(self) -> int:
        """Bytes of an element of A and B."""
        return element_bytes(self.format)


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

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tiles along M, N and K."""
        problem = self.problem
        return -(-problem.m // self.m), -(-problem.n // self.n), -(-problem.k // self.k)

    @property
    def left_words(self) -> int:
        """Words of a fold of rows in each bank."""
        problem = self.problem
        if problem.operation == "ws":
            return _words(self.m * problem.element)
        return _words(self.k * (problem.element if problem.floats else 1))

    @property
    def top_words(self) -> int:
        """Words of a fold of columns in each bank."""
        if self.problem.operation == "ws":
            return _words(self.row_folds * self.region.array[0])
        return self.left_words

    @property
    def result_words(self) -> int:
        """Words of the results of a fold of columns in each bank."""
        problem = self.problem
        elements = self.row_folds * ROWS if problem.floats else -(-self.m // problem.limbs)
        return -(-_words(elements * problem.width) // 2) * 2

    @property
    def fits(self) -> bool:
        """Whether every memory holds as many of them."""
        edge = lane_words(self.config, "left") // self.slots
        results = lane_words(self.config, "result") // self.slots // 2 * 2
        return (
            self.row_folds * self.left_words <= edge
            and self.col_folds * self.top_words <= edge
            and self.col_folds * self.result_words <= results
        )

    @property
    def cycles(self) -> int:
        """About how many cycles the product takes: the most of the array's, of the bus's, and of
        those that the list of commands takes."""
        problem, (rows, cols) = self.problem, self.region.array
        folds = self.row_folds * self.col_folds
        if problem.operation == "ws":
            fold = max(self.m * problem.limbs, 2 * rows)
        else:
            each = self.config.interval(problem.format) if problem.floats else 1
            fold = max(self.k * each, rows + 1)
        down, across, deep = self.counts
        beat = beat_bytes(self.config)
        stored = self.m * self.n * result_bytes(problem.format) // beat
        listed = _COMMANDS * -(-COMMAND_BYTES // beat)
        moved = max(deep * (self.load_beats + listed), stored)
        checked = deep * (_COMMANDS * (_CHECK_CYCLES + self.config.lanes) + folds)
        moved = max(moved, checked)
        beyond = 2 * rows + cols
        if self.slots == 1:
            return down * across * (deep * folds * fold + moved) + beyond
        return down * across * max(deep * folds * fold, moved) + beyond

    @property
    def load_beats(self) -> int:
        """Beats of the operands of a tile; each row of a stream begins with one."""
        problem, beat = self.problem, beat_bytes(self.config)
        along_k = -(-self.k * problem.element // beat)
        if problem.operation == "ws":
            return self.k * -(-self.m * problem.element // beat) + self.n * along_k
        return (self.m + self.n) * along_k

    @property
    def loaded(self) -> int:
        """Beats that are loaded in all, of operands and of the list: of equals the one with the
        fewest is best."""
        down, across, deep = self.counts
        listed = _COMMANDS * -(-COMMAND_BYTES // beat_bytes(self.config))
        return down * across * deep * (self.load_beats + listed)


def _words(count: int) -> int:
    return -(-count // LEFT_WORD_BYTES)


def _up_to(most: int) -> Iterator[int]:
    """1, 2, 4, ... and the number itself."""
    step = 1
    while step < most:
        yield step
        step *= 2
    yield most


def tilings(problem: Problem, region: Region, config: GtaConfig) -> Iterator[Tiling]:
    """Tilings that fit, twice if any does, of tiles of all sizes. None if a sum of limbs of the
    array's rows is more than an element holds."""
    yield from list(_tilings(problem, region, config, 2)) or _tilings(problem, region, config, 1)


def _tilings(problem: Problem, region: Region, config: GtaConfig, slots: int) -> Iterator[Tiling]:
    rows, cols = region.array
    down, across = rows // problem.limbs, cols // problem.limbs
    ws = problem.operation == "ws"
    edge = lane_words(config, "left") // slots * LEFT_WORD_BYTES
    segment = -(-problem.k // problem.segments)
    if ws and rows > config.most_products:
        return
    most_time = segment if ws or problem.floats else min(segment, config.most_products)
    row_most = -(-segment // rows) if ws else -(-problem.m // down)
    col_most = -(-problem.n // across)
    longest = edge if not ws else min(edge, problem.m)
    times = list(_up_to(min(longest, problem.m if ws else most_time)))
    for row_folds, col_folds, time in product(
        _up_to(min(_MOST_FOLDS, row_most)), _up_to(min(_MOST_FOLDS, col_most)), times
    ):
        made = Tiling(
            problem=problem,
            region=region,
            config=config,
            row_folds=row_folds,
            col_folds=col_folds,
            m=time if ws else row_folds * down,
            n=col_folds * across,
            k=row_folds * rows if ws else time,
            slots=slots,
        )
        if made.fits:
            yield made
