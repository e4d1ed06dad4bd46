"""Cycles that the array takes for a p-GEMM whose operands are on chip: a closed form, exact.

Nothing beside the array can hold it up: no port that it uses inside a p-GEMM is another's.
"""

from __future__ import annotations

from ...hw.spec.gta import COLS, ROWS, GtaConfig, is_float, limbs
from .array_job import ArrayJob
from .fold_cycles import Folds, drained, multiplied
from .pipeline import PIPELINE, Pipeline

__all__ = ["array_cycles", "folds_of", "product_cycles"]


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
    """Cycles from that in which the command is taken to that in which the last result is written,
    both counted.

    Segments of integers end with the longest, those of floats follow each other; sums of segments
    of integers are added afterwards, which is not part of this. Raises ValueError if the
    configuration has not the format or the lanes.
    """
    job.check(config)
    if job.dataflow == "simd":
        return pipeline.begin + _vectors(config, job) + COLS - 1 + pipeline.vectors
    if is_float(job.format):
        ends = pipeline.float_sums + config.adder_stages
        each = [drained(folds_of(config, job, k), pipeline) for k in job.segment_sizes]
        return sum(pipeline.begin + cycles + ends for cycles in each)
    # The first segment is a longest.
    cycles = drained(folds_of(config, job, job.segment_sizes[0]), pipeline)
    return pipeline.begin + cycles + pipeline.sums


def product_cycles(config: GtaConfig, job: ArrayJob, pipeline: Pipeline = PIPELINE) -> int:
    """Cycles from the first operand of a job's longest segment, or of the first weight that is
    loaded, to the last product: what SCALE-Sim counts."""
    job.check(config)
    k = job.segment_sizes[0]
    if job.dataflow == "simd":
        return _vectors(config, job) + COLS - 1
    return multiplied(folds_of(config, job, k), pipeline)


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
