"""What a p-GEMM takes whose K is cut into segments, their sums added up by the array."""

from __future__ import annotations

from dataclasses import replace

from ....hw.spec.gta import GtaConfig
from ..array_job import ArrayJob
from ..array_schedule import Schedule
from ..pipeline import PIPELINE, Pipeline
from ..regions import stacked
from ..tiles.segment_sums import segment_sums
from .block_cost import Placed, port_cycles
from .blocks import DoesNotFit, best_blocks
from .capacity import Block
from .cost import Accesses, Cost, Moved
from .pgemm import PGemm
from .sums_cost import sums_cost
from .sums_way import added_cycles, last_tile

__all__ = ["segmented_cost"]


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
    """On one region, and its blocks. Inputs stationary is weights stationary of the transposed
    problem."""
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
