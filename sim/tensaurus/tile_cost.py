"""The cost of a work's tiles: bytes that they move, and their expected time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from ...hw.spec.jobs.tensaurus_operations import TILE_BYTES
from ...hw.spec.tensaurus import TensaurusConfig
from .job_tiles import output_bytes
from .work import Cut, Work, count_of


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """Cycles that each part of a device is busy.

    Parameters
    ----------
    memory: a beat of every channel a cycle
    array: a product of every row a cycle
    drains: a slice's vector a cycle, of one row
    """

    memory: int
    array: int
    drains: int

    @property
    def most(self) -> int:
        """Cycles of the part that takes longest."""
        return max(self.memory, self.array, self.drains)

    @property
    def limit(self) -> str:
        """The name of the part that takes longest."""
        parts = {"memory": self.memory, "array": self.array, "drains": self.drains}
        return max(parts, key=lambda name: parts[name])


def fibers_of(shape: Sequence[int], values: float) -> tuple[float, ...]:
    """Returns the expected fibers of values that are spread evenly: the distinct places in the
    first two modes, in the first three, ..., in all but the last."""
    cells = [prod(shape[:count]) for count in range(2, len(shape))]
    return tuple(_hit(each, values) for each in cells)


def _hit(cells: float, values: float) -> float:
    """Cells that are hit by so many values, each of which may be in any of them."""
    return cells * (1 - (1 - 1 / cells) ** values) if cells else 0.0


def expected_cycles(
    config: TensaurusConfig, work: Work, cut: Cut, *, values: float, headers: float,
    fibers: Sequence[float], moved: int,
) -> Cycles:  # fmt: skip
    """Estimates the cycles of a cut.

    Parameters
    ----------
    values: of the tensor
    headers: slices in tiles, of one group of columns
    fibers: see :func:`fibers_of`
    moved: bytes
    """
    kernel, ranges = cut.kernel, cut.range_counts(work)
    groups = prod(cut.group_counts(config, work))
    products = values * kernel.group_vectors(work.order - 1)
    for mode, count in enumerate(fibers, 1):
        # A fiber is in as many tiles as its values hit ranges of the modes that it goes along.
        pieces = count * _hit(prod(ranges[mode + 1 :]), values / count) if count else 0.0
        products += pieces * kernel.group_vectors(mode)
    line = config.channels * config.geometry.beat_bytes
    return Cycles(
        memory=-(-moved // line),
        array=int(groups * products / config.rows),
        drains=int(groups * headers * kernel.units),
    )


Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Bytes that a cut moves and cycles that it takes, if values are spread evenly over slices.

    Parameters
    ----------
    tensor: of the streams, headers and no-ops included; ``headers``: of the headers alone
    operands: of each other mode's operand, padding included
    output: of the result, padding included: written once from the buffer; in memory the units of
        each slice that has values are read and written with each tile
    tiles: expected number of tiles that have values; ``list``: of their descriptions
    cycles: of memory, array and drains
    """

    tensor: int
    headers: int
    operands: tuple[int, ...]
    output: int
    tiles: int
    list: int
    cycles: Cycles

    @property
    def total(self) -> int:
        """All that is read and written."""
        return self.tensor + sum(self.operands) + self.output + self.list

    @property
    def order(self) -> tuple[int, int]:
        """The less the better."""
        return self.cycles.most, self.total


class Spread:
    """The distribution of the values of a work's slices over tiles."""

    def __init__(
        self, work: Work, lengths: Ints | None, fibers: Sequence[float] | None = None
    ) -> None:
        self.values = prod(work.shape) if lengths is None else int(lengths.sum())
        if lengths is None:
            self.fibers: Sequence[float] = [prod(work.shape[:n]) for n in range(2, work.order)]
        else:
            self.fibers = fibers_of(work.shape, self.values) if fibers is None else fibers
        self.longest = 0 if lengths is None else int(lengths.max(initial=0))
        self._lengths, self._count = np.unique(
            np.zeros(0, np.int64) if lengths is None else lengths, return_counts=True
        )
        self._headers: dict[int, float] = {}

    def headers(self, tiles: int) -> float:
        """Slices that are announced, if each is cut into so many tiles."""
        if tiles not in self._headers:
            missed = (1 - 1 / tiles) ** self._lengths.astype(np.float64)
            self._headers[tiles] = float((tiles * (1 - missed) * self._count).sum())
        return self._headers[tiles]


def cost_of(config: TensaurusConfig, work: Work, cut: Cut, spread: Spread | Ints | None) -> Cost:
    """Estimates the cost of a cut; ``spread``: the slices' lengths, see :func:`.tiles.plan`."""
    if not isinstance(spread, Spread):
        spread = Spread(work, spread)
    kernel = cut.kernel
    groups = prod(cut.group_counts(config, work))
    ranges = cut.range_counts(work)
    inner = prod(ranges[1:])
    times = loads(config, work, cut)
    per_value = config.format.bits // 8
    operands = tuple(
        int(times[mode] * work.shape[mode] * kernel.row_values(config, mode) * per_value)
        for mode in range(1, work.order)
    )
    if work.dense:
        line = config.line_bytes
        pitch = count_of(prod(cut.steps[1:]) * per_value, line) * line
        tiles, headers = float(ranges[0] * inner), 0.0
        announced = float(work.shape[0] * inner)
        stream = float(work.shape[0] * inner * pitch)
    else:
        entry = config.layout(work.order).entry_bytes
        announced = headers = spread.headers(inner) if inner else 0.0
        all_tiles = ranges[0] * inner
        tiles = all_tiles * -np.expm1(-spread.values / all_tiles) if all_tiles else 0.0
        slots = spread.values + headers
        # A tile is as long as its longest row: rows are level, but for a slice that is longer.
        level = max(slots / config.rows, spread.longest / max(1, inner) * min(1, ranges[0]))
        stream = (level + tiles) * entry
        headers = headers * config.layout(work.order).slot_bytes
    output = groups * output_bytes(config, kernel, work.shape[0])
    if cut.store == "memory":
        unit_bytes = config.unit_block_bytes + config.result_unit_bytes
        output = int(groups * announced) * kernel.units * unit_bytes
    listed = int(np.ceil(groups * tiles))
    moved = int(groups * stream) + sum(operands) + output + listed * TILE_BYTES
    cycles = expected_cycles(
        config, work, cut, values=spread.values, headers=announced, fibers=spread.fibers,
        moved=moved,
    )  # fmt: skip
    return Cost(
        tensor=int(groups * stream),
        headers=int(groups * headers),
        operands=operands,
        output=output,
        tiles=listed,
        list=listed * TILE_BYTES,
        cycles=cycles,
    )


def loads(config: TensaurusConfig, work: Work, cut: Cut) -> tuple[float, ...]:
    """Returns how often the tensor, and each other mode's operand, passes the memory ports if every
    tile has values."""
    groups, ranges = cut.group_counts(config, work), cut.range_counts(work)
    counts = [*groups, ranges[0], *(ranges[mode] for mode in cut.loops)]
    found = [float(prod(groups))]
    for mode in range(1, work.order):
        own = {len(groups) + 1 + cut.loops.index(mode)}
        own.add(mode - 1 if len(groups) > 1 else 0)
        # A tile is loaded anew whenever one of its loops goes on.
        changes, outer = 1, 1
        for number, count in enumerate(counts):
            changes += (count - 1) * outer if number in own else 0
            outer *= count
        found.append(changes / max(1, ranges[mode]))
    return tuple(found)
