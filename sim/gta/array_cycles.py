"""Cycles that the array takes for a p-GEMM whose operands are on chip: a closed form, exact.

Nothing beside the array can hold it up: no port that it uses inside a p-GEMM is another's. All are
the RTL's, without deviation, which a bench demands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ...hw.spec.gta import ROWS, GtaConfig, is_float, limbs
from ...hw.spec.jobs.gta_vector import octet_cycles
from .array_job import ArrayJob

# Cycles of folds on an array of any size, from a fold's begin to its last product or sum.
#
# The element at row r and column c multiplies what entered row 0 and column 0 r + c cycles
# before.
# The tests simulate the array register by register and compare these cycles.


@dataclass(frozen=True, kw_only=True)
class Folds:
    """A run of equal folds.

    Parameters
    ----------
    stationary: whether an operand is loaded before a fold and stays (``ws``); else sums stay
    chained: of sums that stay, whether they leave through the fused adders of floats, each when it
        is complete, not down the columns
    aside: whether sums that leave down the columns move aside first, to the second rank; else they
        leave before the next ones arrive
    rows, cols: of the array, in elements; a fold takes all of it
    time: cycles in which each element multiplies
    folds: how many
    overlap: a fold's stationary operand is loaded, or its sums leave, beside another fold's work
    """

    stationary: bool
    chained: bool = False
    aside: bool = True
    rows: int
    cols: int
    time: int
    folds: int
    overlap: bool = True


def interval(one: Folds) -> int:
    """Cycles from a fold's begin to the next one's.

    With overlap at least a cycle a row: so long a column's operands take to come down, or its sums,
    and each row begins to take, and ends to give, when it needs to; sums that do not move aside
    leave behind the fold's last product. Without, a fold takes what SCALE-Sim's does (see
    `multiplied`).
    """
    if not one.overlap:
        return _alone(one)
    return max(one.time, one.rows) if _hidden(one) else one.time + one.rows - 1


def _hidden(one: Folds) -> bool:
    """Returns whether a fold's operands come, or its sums leave, beside another fold's work."""
    return one.stationary or one.chained or one.aside


def _alone(one: Folds) -> int:
    load = one.rows if one.stationary else 0
    return load + one.time + one.rows + one.cols - 2


def multiplied(one: Folds) -> int:
    """Cycles to the last product: a fold by itself takes 2 R + C + T - 2 where an operand is
    stationary, else R + C + T - 2."""
    return (one.folds - 1) * interval(one) + _alone(one)


def drained(one: Folds) -> int:
    """Cycles until the last sum has left the elements.

    Sums that stay and leave down the columns are moved, and where they move aside first a cycle a
    row later, by the fold behind theirs, an empty one behind the last.
    """
    if one.stationary or one.chained:
        return multiplied(one)
    return one.folds * interval(one) + (1 + one.aside) * one.rows + one.cols - 1


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Cycles that a job takes beside those of its folds.

    Parameters
    ----------
    begin: from that in which a command is taken to that in which its first fold begins
    sums: from the last sum that leaves a column to the end of the command, of integers, where the
        configuration's have one limb; each doubling of the most limbs takes one more
    float_sums: the same from the last product of limbs, of floats, beside the adder's registers
    emptied: between commands of floats whose products come less than 8 cycles apart, from when a
        fold could follow to when the next command's first one begins, beside two for each row
    vectors: the same of vector operations, from the last step of the last column; of floats there
        are the adder's registers
    taken: between vector operations at least, from when one is taken to when the next one is
    """

    begin: int = 2
    sums: int = 9
    float_sums: int = 9
    emptied: int = 22
    vectors: int = 6
    taken: int = 8


PIPELINE = Pipeline()
"""The pipeline of the hardware, as the RTL has it."""


def folds_of(config: GtaConfig, job: ArrayJob, k: int | None = None) -> Folds:
    """The folds of a systolic job, or of a segment of ``k`` products a sum."""
    down, across, time = job.extent(config, k)
    rows, cols = job.array
    return Folds(
        stationary=job.dataflow in ("ws", "is"),
        chained=is_float(job.format),
        aside=config.second_rank,
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
