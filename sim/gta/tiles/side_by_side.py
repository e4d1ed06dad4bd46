"""Places products side by side that run at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....hw.spec.gta import GtaConfig
from ..regions import Region, region_of
from .choice import Choice, choose_on

__all__ = ["Wanted", "choose_side_by_side", "region_of_lanes"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A product that needs a region.

    Parameters
    ----------
    format, sizes: M, N and K of it
    result, dataflow: see ``GtaDriver.pgemm``
    lanes: the numbers of its lanes; None: any
    """

    format: str
    sizes: tuple[int, int, int]
    result: str = "wrap"
    dataflow: str = "auto"
    lanes: tuple[int, ...] | None = None


def region_of_lanes(config: GtaConfig, layout: int, lanes: Sequence[int]) -> Region | None:
    """The region that some lanes are if ``1 << layout`` stand beside each other; None if they are
    no rectangle."""
    masks = [int(lane in lanes) for lane in range(config.lanes)]
    found = region_of(masks, layout, 1)
    return found if found and sorted(found.lanes) == sorted(lanes) else None


def choose_side_by_side(
    config: GtaConfig, wanted: tuple[Wanted, Wanted], layout: tuple[int, int] | None = None
) -> tuple[Choice, Choice] | None:
    """Regions, dataflows and tiles of two products that take fewest cycles together, by the
    estimate of :class:`Tiling`: the longer one's; None if nothing fits.

    Where lanes are not given they are cut in two, downwards or across, in each layout. ``layout``:
    rows and columns of all lanes; None: any
    """
    found = []
    for number in range(config.lanes.bit_length()):
        if layout not in (None, (config.lanes >> number, 1 << number)):
            continue
        for regions in _pairs(config, number, wanted):
            pair = [
                choose_on(
                    config,
                    (region,),
                    one.format,
                    one.sizes,
                    result=one.result,
                    dataflow=one.dataflow,
                    sharers=len(wanted),
                )
                for one, region in zip(wanted, regions, strict=True)
            ]
            if pair[0] and pair[1]:
                found.append((pair[0], pair[1]))
    return min(found, key=_cost, default=None)


def _cost(pair: tuple[Choice, Choice]) -> tuple[int, int]:
    cycles = [one.cycles for one in pair]
    return max(cycles), sum(cycles)


def _pairs(
    config: GtaConfig, layout: int, wanted: tuple[Wanted, Wanted]
) -> Iterator[tuple[Region, Region]]:
    """Regions for two products in a layout."""
    first, second = (one.lanes for one in wanted)
    if first is not None and second is not None:
        given = [region_of_lanes(config, layout, lanes) for lanes in (first, second)]
        if given[0] and given[1]:
            yield given[0], given[1]
        return
    rows, across = config.lanes >> layout, 1 << layout
    for row in range(1, rows):
        yield Region(across, 0, row, across), Region(across, row * across, rows - row, across)
    for col in range(1, across):
        yield Region(across, 0, rows, col), Region(across, col, rows, across - col)
