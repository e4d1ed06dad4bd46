"""Cycles that the array takes for a p-GEMM whose operands are on chip: a closed form, exact.

Nothing beside the array can hold it up: no port that it uses inside a p-GEMM is another's. All are
the RTL's, without deviation, which a bench demands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...hw.spec.gta import ROWS, GtaConfig, is_float, limbs
from ...hw.spec.jobs.gta_vector import octet_cycles
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
    config: GtaConfig,
    jobs: Sequence[tuple[int, ArrayJob]],
    pipeline: Pipeline = PIPELINE,
    *,
    times: int = 1,
) -> int:
    """Cycles of commands that are there before they are taken: how many of which job, in order, all
    of one format and dataflow on the same region; ``times``: all of them again and again.

    A systolic command's folds follow those of the command before as if they were its own, but of
    floats whose products come less than 8 cycles apart when the array is empty; so do vectors
    those of the command before, if they do not begin with its results. Raises ValueError if there
    is no job, or if a job does not fit the configuration.
    """
    if not jobs:
        raise ValueError("there must be a job at least")
    for _, job in jobs:
        job.check(config)
    last = jobs[-1][1]
    if last.dataflow == "simd":
        lengths = [(count, _vectors(config, job)) for count, job in jobs]
        begun = _last_begun(lengths, pipeline, times)
        ends = pipeline.vectors + _behind_vectors(config, last.format)
        return begun + _vectors(config, last) + last.array[1] + ends
    before = 0
    for count, job in jobs:
        for k in _sequence(job):
            folds = folds_of(config, job, k)
            before += times * count * folds.folds * interval(folds)
    final = folds_of(config, last, _sequence(last)[-1])
    before -= final.folds * interval(final)
    if is_float(last.format):
        # The last product's limbs are multiplied first, then it waits for the next one's turn.
        each = config.interval(last.format)
        ends = pipeline.float_sums + config.adder_stages - (each - limbs(last.format) ** 2)
        if each < ROWS:
            commands = times * sum(count * len(_sequence(job)) for count, job in jobs)
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
        return _vectors(config, job) + job.array[1] - 1
    return multiplied(folds_of(config, job, job.segment_sizes[0]))


def _vectors(config: GtaConfig, job: ArrayJob) -> int:
    """An octet of each bank after the other: of D a tile as large as the array, each element of
    which adds up the products of one of D's."""
    rows, cols = job.array
    octets = -(-job.m // rows) * -(-job.n // cols)
    return octets * octet_cycles(config, "dot", job.format, job.segment_sizes[0])


def _behind_vectors(config: GtaConfig, format: str) -> int:
    """Floats' last sums come out of the adder, of fp64 in two words; what the last products wait
    for the next ones' turn counts for nothing."""
    if not is_float(format):
        return 0
    waits = octet_cycles(config, "dot", format) - limbs(format) ** 2
    return config.adder_stages + (format == "fp64") - waits


_State = tuple[int, int, int]
"""When a command of vectors is taken, when it begins, and when it ends."""


def _last_begun(commands: Sequence[tuple[int, int]], pipeline: Pipeline, times: int) -> int:
    """When the last of vectors' commands begins, how many of which cycles, so many times, that are
    there in time.

    One is taken when the one before has begun, some cycles behind that one; it begins when that one
    ends.
    """

    def one(cycles: int, state: _State) -> _State:
        taken, begun, ends = state
        taken = max(taken + pipeline.taken, begun)
        begun = max(taken + pipeline.begin, ends)
        return taken, begun, begun + cycles

    def all_of_them(state: _State) -> _State:
        for count, cycles in commands:
            state = _repeated(count, partial(one, cycles), state)
        return state

    return _repeated(times, all_of_them, (-pipeline.taken, 0, 0))[1]


def _repeated(times: int, step: Callable[[_State], _State], state: _State) -> _State:
    """The state after so many steps; once all of it moves alike, so it does in all others."""
    for number in range(times):
        after = step(state)
        moved = {new - old for new, old in zip(after, state, strict=True)}
        state = after
        if len(moved) == 1:
            rest = (times - number - 1) * moved.pop()
            return state[0] + rest, state[1] + rest, state[2] + rest
    return state
