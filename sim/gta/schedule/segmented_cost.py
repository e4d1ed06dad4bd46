"""The cost of a p-GEMM whose K is cut into segments; the array adds up their sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from ....hw.spec.gta import GtaConfig, is_float, limbs
from ....hw.spec.jobs.gta import beat_bytes
from ...timing.memories import FLAT
from ..array_cycles import PIPELINE, Pipeline, chain_cycles
from ..array_job import ArrayJob, Schedule
from ..regions import stacked
from ..tiles.segment_sums import SegmentSums, StreamImage, segment_sums
from .cost import (
    Accesses,
    Block,
    Cost,
    Moved,
    PGemm,
    Placed,
    accesses_of,
    block_cost,
    needed,
    port_cycles,
)


class DoesNotFit(ValueError):
    """Not even a fold's operands fit the memories of lanes."""


def best_blocks(placed: Placed, problem: PGemm, longest: int = 0) -> tuple[Block, Cost]:
    """The blocks that take the least time, then cycles, bytes and commands; of at most ``longest``
    products a sum, if given. Raises DoesNotFit if none fits the memories of lanes."""
    blocks = {(m, n, min(k, longest or k)) for m, n, k in _blocks(placed, problem)}
    if not blocks:
        raise DoesNotFit(
            f"no block of {placed.dataflow} {placed.rows}x{placed.cols} fits `vector_bytes` "
            f"{placed.config.vector_bytes} in {problem.format}"
        )
    found = [(block, block_cost(placed, problem, block)) for block in blocks]
    return min(found, key=lambda one: (*_order(one[1]), one[0]))


def _order(cost: Cost) -> tuple[int, ...]:
    return cost.time, cost.cycles, cost.moved.total, cost.commands


def _blocks(placed: Placed, problem: PGemm) -> Iterator[Block]:
    """All at once if that fits, and what is cut into blocks of as many folds down and across as
    powers of two, and as much of what is left as fits half of each memory: the other half is
    loaded, or stored, meanwhile."""
    config = placed.config
    whole = (problem.m, problem.n, problem.k)
    if needed(problem, placed.dataflow, placed.array, whole).fits(config, 1):
        yield whole
    for block in _cut(placed, problem):
        if needed(problem, placed.dataflow, placed.array, block).fits(config, 2):
            yield block


def _cut(placed: Placed, problem: PGemm) -> Iterator[Block]:
    """Two sizes as they come, the third the largest that fits."""
    rows, cols = placed.array
    length = limbs(problem.format)
    if placed.dataflow == "ws":
        for k, n in product(_sizes(problem.k, rows), _sizes(problem.n, cols // length)):
            yield from _largest(placed, problem, (0, n, k))
    else:
        each = 1 if is_float(problem.format) else length
        for m, n in product(_sizes(problem.m, rows // each), _sizes(problem.n, cols // each)):
            yield from _largest(placed, problem, (m, n, 0))


def _sizes(size: int, unit: int) -> list[int]:
    """Multiples of what a fold takes, evened out over as many blocks."""
    folds = -(-size // unit)
    blocks = {-(-folds // (1 << power)) for power in range(folds.bit_length() + 1)}
    return sorted({min(size, unit * -(-folds // count)) for count in blocks})


def _largest(placed: Placed, problem: PGemm, block: Block) -> Iterator[Block]:
    """Yields the block with its 0 replaced by the largest size that fits half of the memories,
    evened out."""
    size = (problem.m, problem.n, problem.k)[block.index(0)]

    def filled(value: int) -> Block:
        m, n, k = (each or value for each in block)
        return m, n, k

    low, high = 0, size
    while low < high:
        middle = (low + high + 1) // 2
        one = needed(problem, placed.dataflow, placed.array, filled(middle))
        low, high = (middle, high) if one.fits(placed.config, 2) else (low, middle - 1)
    if low:
        yield filled(-(-size // -(-size // low)))


def sums_cost(
    config: GtaConfig,
    sums: SegmentSums,
    sizes: tuple[int, int],
    piece: int,
    pipeline: Pipeline = PIPELINE,
) -> Cost:
    """Returns the cost of adding up the sums, in chains of commands whose operands are on chip, one
    chain in each region.

    Parameters
    ----------
    sizes: rows and columns of D
    piece: rows of it that lie together in memory
    """
    m, n = sizes
    first, width = sums.regions[0], sums.element
    results = StreamImage(streams=n, count=m, piece=piece, element=width, beat=beat_bytes(config))
    work: list[Counter[ArrayJob]] = [Counter() for _ in sums.regions]
    last: dict[int, ArrayJob] = {}
    for turn, place in enumerate(sums.places(results)):
        job = ArrayJob(
            m=place.count,
            n=place.cols,
            k=place.cols * sums.segments,
            format=sums.format,
            rows=first.rows,
            cols=first.cols,
        )
        number = turn % len(sums.regions)
        work[number][job] += 1
        last[number] = job
    placed = Placed(
        config=config,
        dataflow="ws",
        rows=first.rows,
        cols=first.cols,
        lateral=True,
        pipeline=pipeline,
    )
    accesses = Accesses()
    for jobs in work:
        for job, count in jobs.items():
            own = accesses_of(placed, job)
            # Sums and ones are its operands.
            read = own.a + own.b + own.sums_read
            accesses += Accesses(sums_read=read, sums_written=own.sums_written).times(count)
    ones = sums.ones.streams * sums.ones.count * len(last)
    return Cost(
        cycles=max(
            chain_cycles(config, list(_in_order(work[number], job)), pipeline)
            for number, job in last.items()
        ),
        commands=sum(map(Counter.total, work)),
        accesses=accesses,
        moved=Moved(
            sums_read=(m * n * sums.segments + ones) * width,
            # An element has as many bytes as the result.
            sums_written=m * n * width,
        ),
    )


def _in_order(jobs: Counter[ArrayJob], last: ArrayJob) -> Iterator[tuple[int, ArrayJob]]:
    """Yields pairs of count and job, the last job at the end."""
    for job, count in jobs.items():
        if count - (job == last):
            yield count - (job == last), job
    yield 1, last


_WAY, _TURN, _LISTED = 57, 22, 12
"""Cycles there and back of a sum alone, of a memory that answers after 20; those of a turn of all
regions beside its operands and its work; those of the commands of an EXECUTE."""

_STORED, _LOADED, _WORKED, _WHOLE = 28, 18, 25, 32
"""Shares, in 32nds, that count of the cycles in which the last tiles are stored, in which operands
are loaded, and in which the array works: some of each overlap others. Fitted, with those above, to
jobs on the model of cycles that equals the RTL."""


def added_cycles(
    config: GtaConfig,
    sums: SegmentSums,
    sizes: tuple[int, int],
    piece: int,
    last: tuple[int, int],
    worked: int,
) -> int:
    """Cycles from the end of the last EXECUTE of segments to the last one that adds up.

    Parameters
    ----------
    sizes: rows and columns of D
    piece: rows of it that lie together in memory
    last: rows and columns of the last tile of each segment, which nothing hides the STORE of
    worked: cycles of the array, operands on chip
    """
    m, n = sizes
    beat, count = beat_bytes(config), len(sums.regions)
    results = StreamImage(streams=n, count=m, piece=piece, element=sums.element, beat=beat)
    # A row is a burst, of which so many may be under way.
    least = (FLAT.latency + 8) / config.outstanding

    def moved(rows: int, elements: int) -> float:
        return rows * max(-(-elements * sums.element // beat), least)

    stored = sums.segments * moved(last[1], last[0])
    places = list(sums.places(results))
    loaded = sum(moved(place.cols * sums.segments, place.count) for place in places)
    loaded += min(count, len(places)) * moved(sums.cols, sums.ones.count)
    loaded += _LISTED * len(places)
    part = (_STORED * stored + _LOADED * loaded + _WORKED * worked) / _WHOLE
    return _WAY + int(part) + _TURN * -(-len(places) // count)


def last_tile(sizes: tuple[int, int], tile: tuple[int, int], *, lateral: bool) -> tuple[int, int]:
    """Rows and columns of the last of D's tiles, which go to and fro, rows first or columns."""
    down, across = (-(-size // each) for size, each in zip(sizes, tile, strict=True))
    # The last row of tiles ends where it began if there is an even number of them.
    if lateral:
        place = down - 1, across - 1 if down % 2 else 0
    else:
        place = down - 1 if across % 2 else 0, across - 1
    m, n = (min(each, size - at * each) for size, each, at in zip(sizes, tile, place, strict=True))
    return m, n


def segmented_cost(
    config: GtaConfig,
    job: ArrayJob,
    problem: PGemm,
    schedule: Schedule,
    pipeline: Pipeline = PIPELINE,
) -> Cost:
    """Segments of floats are blocks of K. Those of integers run at the same time; their sums go to
    memory and come back as operands, which the array multiplies by ones, all regions in turn; how
    long that takes is an estimate, see `added_cycles`.

    ``job``: the whole product. Raises DoesNotFit, also if the device cannot add up the sums.
    """
    if job.regions == 1:
        longest = job.segment_sizes[0] if job.segments > 1 else 0
        return _placed_cost(config, problem, schedule, pipeline, longest)[1]
    regions = stacked(schedule.rows, schedule.cols, job.regions)
    sums = segment_sums(config, job.regions, problem.result_bytes, regions)
    if sums is None or job.regions > 1 << config.mask_bits:
        raise DoesNotFit(
            f"nothing adds up sums of {job.regions} segments of {problem.format}: `formats`, "
            "`vector_bytes` or `mask_bits` must be more"
        )
    parts = [
        # C is where the first segment's sums begin.
        replace(problem, k=k, accumulate=problem.accumulate and not number)
        for number, k in enumerate(job.segment_sizes)
    ]
    found = [_placed_cost(config, part, schedule, pipeline, 0) for part in parts]
    turned = schedule.dataflow == "is"
    m, n = (problem.n, problem.m) if turned else (problem.m, problem.n)
    block = found[0][0]
    added = sums_cost(config, sums, (m, n), block[0], pipeline)
    last = last_tile((m, n), block[:2], lateral=schedule.lateral != turned)
    behind = added_cycles(config, sums, (m, n), block[0], last, added.cycles)
    each = [cost for _, cost in found]
    moved = sum((one.moved for one in (*each, added)), Moved())
    return Cost(
        cycles=max(one.cycles for one in each) + behind,
        port_cycles=port_cycles(config, moved),
        commands=sum(one.commands for one in (*each, added)),
        accesses=sum((one.accesses for one in (*each, added)), Accesses()),
        moved=moved,
    )


def _placed_cost(
    config: GtaConfig, problem: PGemm, schedule: Schedule, pipeline: Pipeline, longest: int
) -> tuple[Block, Cost]:
    """Returns the blocks of a problem on one region, and their cost. Inputs stationary is weights
    stationary of the transposed problem."""
    turned = schedule.dataflow == "is"
    placed = Placed(
        config=config,
        dataflow="ws" if turned else schedule.dataflow,
        rows=schedule.rows,
        cols=schedule.cols,
        lateral=schedule.lateral != turned,
        pipeline=pipeline,
    )
    if not turned:
        return best_blocks(placed, problem, longest)
    block, found = best_blocks(placed, replace(problem, m=problem.n, n=problem.m), longest)
    accesses, moved = found.accesses, found.moved
    return block, replace(
        found,
        accesses=replace(accesses, a=accesses.b, b=accesses.a),
        moved=replace(moved, a=moved.b, b=moved.a),
    )
