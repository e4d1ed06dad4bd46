"""What a product by vectors takes, as the driver has it."""

from __future__ import annotations

from ....hw.spec.gta import ROWS, GtaConfig
from ..array_cycles import chain_cycles
from ..array_job import ArrayJob
from ..array_schedule import Schedule
from ..pipeline import PIPELINE, Pipeline
from ..vector.choice import laid_out
from .block_cost import port_cycles
from .blocks import DoesNotFit
from .cost import Accesses, Cost, Moved
from .pgemm import PGemm

__all__ = ["vector_cost"]


def vector_cost(
    config: GtaConfig, problem: PGemm, schedule: Schedule, pipeline: Pipeline = PIPELINE
) -> Cost:
    """Of a command for each tile and part of its sums, of a group of octets of each bank. Elements
    of tiles beyond the ends of D work, too, and whole groups are moved; no products of theirs are
    counted.

    Raises DoesNotFit for sums of integers that no element holds.
    """
    try:
        sizes = (problem.m, problem.n, problem.k)
        made = laid_out(config, problem.format, sizes, schedule, use_c=problem.accumulate)
    except ValueError as error:
        raise DoesNotFit(str(error)) from None
    tiling = made.tiling
    down, across, deep = tiling.counts
    last = problem.k - (deep - 1) * tiling.k
    parts = [(deep - 1, tiling.k)] * (deep > 1) + [(1, last)]
    commands = [
        (
            count,
            ArrayJob(
                m=tiling.together * ROWS * schedule.rows,
                n=1,
                k=k,
                format=problem.format,
                dataflow="simd",
                rows=schedule.rows,
                cols=schedule.cols,
            ),
        )
        for count, k in parts
    ]
    a, b, d = tiling.moved
    a, b = (b, a) if made.turned else (a, b)
    moved = Moved(
        a=a * problem.element_bytes,
        b=b * problem.element_bytes,
        sums_read=d * problem.result_bytes * problem.accumulate,
        sums_written=d * problem.result_bytes,
    )
    results = problem.m * problem.n
    return Cost(
        cycles=chain_cycles(config, commands, pipeline, times=down * across),
        port_cycles=port_cycles(config, moved),
        commands=down * across * deep,
        # Each element reads operands of its own, and keeps its sum.
        accesses=Accesses(
            a=problem.products,
            b=problem.products,
            sums_read=results * (deep - 1 + problem.accumulate),
            sums_written=results * deep,
        ),
        moved=moved,
    )
