"""Places products side by side that run at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ....hw.spec.gta import LEFT_WORD_BYTES, GtaConfig, is_float, result_bytes
from ....hw.spec.jobs.gta_commands import lane_words
from ..array_job import Schedule
from ..regions import Region, region_of, stacked
from .segment_sums import SegmentSums, segment_sums
from .tiling import Problem, Tiling

_MOST_FOLDS = 8


def tilings(
    problem: Problem, region: Region, config: GtaConfig, sharers: int = 1
) -> Iterator[Tiling]:
    """Tilings that fit, twice if any does, of tiles of all sizes. None if a sum of limbs of the
    array's rows is more than an element holds."""
    found = list(_tilings(problem, region, config, 2, sharers))
    yield from found or _tilings(problem, region, config, 1, sharers)


def _tilings(
    problem: Problem, region: Region, config: GtaConfig, slots: int, sharers: int
) -> Iterator[Tiling]:
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
            sharers=sharers,
        )
        if made.fits:
            yield made


def _up_to(most: int) -> Iterator[int]:
    """1, 2, 4, ... and the number itself."""
    step = 1
    while step < most:
        yield step
        step *= 2
    yield most


DATAFLOWS = ("auto", "ws", "is", "os")
"""The operand that stays in the array: weights, inputs or sums; ``auto``: the fastest."""

_ALIKE = 0.01
"""Estimates that differ by no more than this share say the same."""


@dataclass(frozen=True)
class Choice:
    """The chosen way to compute a product.

    Parameters
    ----------
    dataflow: one of ``DATAFLOWS`` but "auto"
    tiling: tiles, of IS those of the transposed product; of several regions those of the first
    sums: how the sums of several regions, a segment of K each, are added up; None: there is one
    """

    dataflow: str
    tiling: Tiling
    sums: SegmentSums | None = None

    @property
    def layout(self) -> int:
        """The number of the lanes' layout."""
        return self.tiling.region.across.bit_length() - 1

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions in which segments run at the same time."""
        return self.sums.regions if self.sums else (self.tiling.region,)

    @property
    def cycles(self) -> int:
        """About how many cycles it takes."""
        problem = self.tiling.problem
        added = self.sums.cycles(problem.m, problem.n) if self.sums else 0
        return self.tiling.cycles + added

    @property
    def schedule(self) -> Schedule:
        """The schedule, in the terms of the space of schedules; its segments are the least number
        that K is cut into."""
        problem, region = self.tiling.problem, self.tiling.region
        return Schedule(
            dataflow=self.dataflow,
            rows=region.rows,
            cols=region.cols,
            segments=problem.segments * len(self.regions),
            lateral=problem.lateral,
        )

    @property
    def cost(self) -> tuple[int, int]:
        """The cost that the best choice minimises: cycles, then elements loaded."""
        return self.cycles, self.tiling.loaded


def regions_of(config: GtaConfig, format: str, result: str, segments: int, k: int) -> int:
    """Returns how many segments of K run at the same time. Segments of integers run in a power of
    two, limited by the lanes and the masks, if the device has a format in which their sums can be
    added up and memories that hold some; otherwise one at a time."""
    most = 1 if is_float(format) else min(segments, k, config.lanes, 1 << config.mask_bits)
    count = 1 << (most.bit_length() - 1)
    while count > 1 and not any(
        segment_sums(config, count, _width(format, result), regions)
        for regions in _layouts(config.lanes // count, None, count)
    ):
        count //= 2
    return count


def _best(found: Sequence[Choice]) -> Choice | None:
    """Returns the choice that loads the fewest elements among those of about the fewest cycles."""
    if not found:
        return None
    enough = min(one.cycles for one in found) * (1 + _ALIKE)
    alike = [one for one in found if one.cycles <= enough]
    return min(alike, key=lambda one: (one.tiling.loaded, one.cycles))


def _width(format: str, result: str) -> int:
    """Bytes of a sum in the lanes."""
    return result_bytes(format) * (1 if result == "wrap" else 2)


def _layouts(
    lanes: int, layout: tuple[int, int] | None, count: int
) -> Iterator[tuple[Region, ...]]:
    """So many regions of ``lanes`` lanes, one below the other, in each layout."""
    for number in range(lanes.bit_length()):
        rows, cols = lanes >> number, 1 << number
        if layout is None or layout == (rows, cols):
            yield stacked(rows, cols, count)


def choose(
    config: GtaConfig,
    format: str,
    sizes: tuple[int, int, int],
    *,
    result: str = "wrap",
    dataflow: str = "auto",
    layout: tuple[int, int] | None = None,
    segments: int | None = 1,
    lateral: bool = True,
    overlap: bool = True,
) -> Choice | None:
    """Returns the choice that loads the fewest elements among those that take about the fewest
    cycles by the estimate of :class:`Tiling`; None if no tile fits.

    Parameters
    ----------
    sizes: M, N and K
    others: see ``GtaDriver.pgemm``
    """
    found = candidates(
        config,
        format,
        sizes,
        result=result,
        dataflow=dataflow,
        layout=layout,
        segments=segments,
        lateral=lateral,
        overlap=overlap,
    )
    return _best(found)


def candidates(
    config: GtaConfig,
    format: str,
    sizes: tuple[int, int, int],
    *,
    result: str = "wrap",
    dataflow: str = "auto",
    layout: tuple[int, int] | None = None,
    segments: int | None = 1,
    lateral: bool = True,
    overlap: bool = True,
) -> list[Choice]:
    """The best tiles for each number of segments, layout and dataflow that is left.

    ``segments``: None: one, and as many as can run at the same time
    """
    flows = (dataflow,) if dataflow != "auto" else ("os",) if is_float(format) else DATAFLOWS[1:]
    counts = {segments or 1: regions_of(config, format, result, segments or 1, sizes[2])}
    if segments is None:
        most = regions_of(config, format, result, config.lanes, sizes[2])
        counts = {1 << power: 1 << power for power in range(most.bit_length())}
    found = [
        choose_on(
            config,
            regions,
            format,
            sizes,
            result=result,
            dataflow=flow,
            segments=parts,
            lateral=lateral,
            overlap=overlap,
            sharers=count,
        )
        for parts, count in counts.items()
        for regions in _layouts(config.lanes // count, layout, count)
        for flow in flows
    ]
    return [one for one in found if one]


def choose_on(
    config: GtaConfig,
    regions: tuple[Region, ...],
    format: str,
    sizes: tuple[int, int, int],
    *,
    result: str = "wrap",
    dataflow: str = "auto",
    segments: int = 1,
    lateral: bool = True,
    overlap: bool = True,
    sharers: int = 1,
) -> Choice | None:
    """The same on given regions, a segment of K each.

    ``sharers``: regions at work at the same time, these among them
    """
    m, n, k = sizes
    count, width = len(regions), _width(format, result)
    sums = segment_sums(config, count, width, regions) if count > 1 else None
    if count > 1 and not sums:
        return None
    flows = (dataflow,) if dataflow != "auto" else ("os",) if is_float(format) else DATAFLOWS[1:]
    found: list[Choice] = []
    for flow in flows:
        problem = Problem(
            m=n if flow == "is" else m,
            n=m if flow == "is" else n,
            k=-(-k // count),
            format=format,
            operation="os" if flow == "os" else "ws",
            width=width,
            segments=-(-segments // count),
            lateral=lateral,
            overlap=overlap,
        )
        tiled = tilings(problem, regions[0], config, sharers)
        found += [Choice(flow, tiling, sums) for tiling in tiled]
    return _best(found)


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
