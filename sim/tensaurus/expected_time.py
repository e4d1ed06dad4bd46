"""How long a cut is expected to take, if all that a device does overlaps perfectly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ...hw.spec.tensaurus import TensaurusConfig
from .work import Cut, Work

__all__ = ["Cycles", "expected_cycles", "fibers_of"]


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
        """Of the part that takes longest."""
        return max(self.memory, self.array, self.drains)

    @property
    def limit(self) -> str:
        """That part."""
        parts = {"memory": self.memory, "array": self.array, "drains": self.drains}
        return max(parts, key=lambda name: parts[name])


def fibers_of(shape: Sequence[int], values: float) -> tuple[float, ...]:
    """Of values that are spread evenly: different places in the first two modes, in the first
    three, ..., in all but the last."""
    cells = [prod(shape[:count]) for count in range(2, len(shape))]
    return tuple(_hit(each, values) for each in cells)


def _hit(cells: float, values: float) -> float:
    """Cells that are hit by so many values, each of which may be in any of them."""
    return cells * (1 - (1 - 1 / cells) ** values) if cells else 0.0


def expected_cycles(
    config: TensaurusConfig, work: Work, cut: Cut, *, values: float, headers: float,
    fibers: Sequence[float], moved: int,
) -> Cycles:  # fmt: skip
    """What a cut is expected to take.

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
