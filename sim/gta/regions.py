"""Lanes in their layout, and the regions that masks make of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...hw.spec.gta import COLS, ROWS, GtaConfig

__all__ = ["Region", "first_torn", "rectangles", "region_of", "stacked"]


@dataclass(frozen=True)
class Region:
    """A rectangle of lanes.

    Parameters
    ----------
    across: lanes from one to that below it
    first: the number of its upper left lane
    rows, cols: lanes downwards and across
    """

    across: int
    first: int
    rows: int
    cols: int

    @property
    def array(self) -> tuple[int, int]:
        """Rows and columns of its elements."""
        return ROWS * self.rows, COLS * self.cols

    def lane(self, row: int, col: int) -> int:
        """The number of one of its lanes."""
        return self.first + row * self.across + col

    @property
    def lanes(self) -> tuple[int, ...]:
        """Their numbers, row by row."""
        return tuple(self.lane(row, col) for row in range(self.rows) for col in range(self.cols))


def stacked(rows: int, cols: int, count: int) -> tuple[Region, ...]:
    """So many regions of ``rows`` x ``cols`` lanes, one below the other."""
    return tuple(Region(cols, part * rows * cols, rows, cols) for part in range(count))


def region_of(masks: Sequence[int], layout: int, group: int) -> Region | None:
    """The smallest rectangle with all lanes of a mask; None if there are none.

    Parameters
    ----------
    masks: by lane
    layout: 1 << layout lanes stand beside each other
    """
    across = 1 << layout
    places = [divmod(lane, across) for lane, mask in enumerate(masks) if mask == group]
    if not places:
        return None
    rows, cols = zip(*places, strict=True)
    top, left = min(rows), min(cols)
    size = max(rows) - top + 1, max(cols) - left + 1
    return Region(across, top * across + left, *size)


def first_torn(masks: Sequence[int], layout: int) -> int | None:
    """The first lane whose mask is that of lanes that are no rectangle; None: there is none."""
    for lane, mask in enumerate(masks):
        region = region_of(masks, layout, mask)
        assert region is not None
        if len(region.lanes) != sum(other == mask for other in masks):
            return lane
    return None


def rectangles(config: GtaConfig, layout: int, regions: Sequence[Region]) -> tuple[int, ...]:
    """Masks by lane that make regions of a layout: 0 of the first, and so on; lanes of no region
    have masks of their own.

    Raises ValueError for regions over each other, or outside of the lanes, or too many.
    """
    masks: list[int | None] = [None] * config.lanes
    for number, region in enumerate(regions):
        if region.across != 1 << layout or region.cols + region.first % region.across > 1 << layout:
            raise ValueError(f"a region must be lanes of layout {layout}, not {region}")
        for lane in region.lanes:
            if lane >= config.lanes or masks[lane] is not None:
                raise ValueError(f"regions must not share lanes, but share lane {lane}")
            masks[lane] = number
    most = 1 << config.mask_bits
    spare = range(len(regions), len(regions) + masks.count(None))
    if spare.stop > most:
        raise ValueError(f"masks must be at most {most}, one for each region or lane")
    left = iter(spare)
    return tuple(next(left) if mask is None else mask for mask in masks)
