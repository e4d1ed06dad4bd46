"""What it takes to add up the sums of segments of K: products with ones, see `SegmentSums`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....hw.spec.gta import GtaConfig
from ....hw.spec.jobs.gta import beat_bytes
from ..array_cycles import chain_cycles
from ..array_job import ArrayJob
from ..pipeline import PIPELINE, Pipeline
from ..tiles.images import StreamImage
from ..tiles.segment_sums import SegmentSums
from .block_cost import Placed, accesses_of
from .cost import Accesses, Cost, Moved

__all__ = ["sums_cost"]


def sums_cost(
    config: GtaConfig,
    sums: SegmentSums,
    sizes: tuple[int, int],
    piece: int,
    pipeline: Pipeline = PIPELINE,
) -> Cost:
    """Of chains of commands whose operands are on chip, a chain in each region.

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
    """How many of which, the last one at the end."""
    for job, count in jobs.items():
        if count - (job == last):
            yield count - (job == last), job
    yield 1, last
