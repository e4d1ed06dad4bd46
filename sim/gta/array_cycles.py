"""Cycles that the array takes for a p-GEMM whose operands are on chip: a closed form, exact.

Nothing beside the array can hold it up: no port that it uses inside a p-GEMM is another's. Those of
products of matrices are the RTL's, without deviation, which a bench demands.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...hw.spec.gta import COLS, ROWS, GtaConfig, is_float, limbs
from .array_job import ArrayJob
from .fold_cycles import Folds, drained, interval, multiplied
from .pipeline import PIPELINE, Pipeline

__all__ = ["array_cycles", "chain_cycles", "folds_of", "product_cycles"]


def folds_of(config: GtaConfig, job: ArrayJob, k: int | None = None) -> Folds:
    """The folds of a systolic job, or of a segment of ``k`` products a sum."""
    down, across, time = job.extent(config, k)
    rows, cols = job.array
    return Folds(
        stationary=job.dataflow in ("ws", "is"),
        chained=is_float(job.format),
        rows=rows,
        cols=cols,
        time=time,
        folds=-(-down // rows) * -(-across // cols),
        overlap=job.overlap,
    )


def array_cycles(config: GtaConfig, job: ArrayJob, pipeline: Pipeline = PIPELINE) -> int:
    """Cycles from that in which the command is taken to that in which it is complete, its last
    result in memory: 1 if that were the next one.

    Segments of integers end with the longest, those of floats are a command each; sums of segments
    of integers are added afterwards, which is not part of this. Raises ValueError if the
    configuration has not the format or the lanes.
    """
    return chain_cycles(config, [(1, job)], pipeline)


def chain_cycles(
    config: GtaConfig, jobs: Sequence[tuple[int, ArrayJob]], pipeline: Pipeline = PIPELINE
) -> int:
    """Cycles of commands that are there before they are taken: how many of which job, in order, all
    of one format and dataflow on the same region.

    A systolic command's folds follow those of the command before as if they were its own, but of
    floats whose products come less than 8 cycles apart when the array is empty; vector operations
    begin when those before are complete. Raises ValueError if there is no job, or if a
    job does not fit the configuration.
    """
    if not jobs:
        raise ValueError("there must be a job at least")
    for _, job in jobs:
        job.check(config)
    last = jobs[-1][1]
    if last.dataflow == "simd":
        ends = pipeline.begin + pipeline.vectors
        return sum(count * (_vectors(config, job) + ends) for count, job in jobs)
    before = 0
    for count, job in jobs:
        for k in _sequence(job):
            folds = folds_of(config, job, k)
            before += count * folds.folds * interval(folds)
    final = folds_of(config, last, _sequence(last)[-1])
    before -= final.folds * interval(final)
    if is_float(last.format):
        # The last product's limbs are multiplied first, then it waits for the next one's turn.
        each = config.interval(last.format)
        ends = pipeline.float_sums + config.adder_stages - (each - limbs(last.format) ** 2)
        if each < ROWS:
            commands = sum(count * len(_sequence(job)) for count, job in jobs)
            before += (commands - 1) * (2 * last.array[0] + pipeline.emptied)
    else:
        most = max(limbs(name) for name in config.integers)
        ends = pipeline.sums + most.bit_length() - 1
    return pipeline.begin + before + drained(final) + ends


def _sequence(job: ArrayJob) -> tuple[int, ...]:
    """K of the segments that follow each other: of integers the longest stands for all."""
    return job.segment_sizes if is_float(job.format) else job.segment_sizes[:1]


def product_cycles(config: GtaConfig, job: ArrayJob) -> int:
    """Cycles from the first operand of a job's longest segment, or of the first weight that is
    loaded, to the last product: what SCALE-Sim counts."""
    job.check(config)
    if job.dataflow == "simd":
        return _vectors(config, job) + COLS - 1
    return multiplied(folds_of(config, job, job.segment_sizes[0]))


def _vectors(config: GtaConfig, job: ArrayJob) -> int:
    """A vector is multiplied by a number and added to another; each element of the array takes one
    of a vector's and works through its products of limbs."""
    length, others = (job.n, job.m) if job.lateral else (job.m, job.n)
    places = ROWS * COLS * job.rows * job.cols
    if is_float(job.format):
        step, products = config.interval(job.format), job.k
    else:
        step, products = limbs(job.format) ** 2, job.segment_sizes[0]
    return others * products * -(-length // places) * step
