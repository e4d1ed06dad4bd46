"""A product in two parts: the full folds in a direction, and what is left over of all of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

from ....hw.spec.gta import COLS, ROWS, GtaConfig, is_float, limbs
from ..array_cycles import PIPELINE, Pipeline, chain_cycles
from ..array_job import ArrayJob, Schedule, layouts
from ..tiles.choice import Choice, candidates, choose
from ..vector.tiling import laid_out, vector_schedules
from .cost import Accesses, Cost, Moved, PGemm, port_cycles
from .segmented_cost import DoesNotFit, segmented_cost


def vector_cost(
    config: GtaConfig, problem: PGemm, schedule: Schedule, pipeline: Pipeline = PIPELINE
) -> Cost:
    """Returns the cost of a schedule by vectors: one command for each tile and part of its sums, of
    a group of octets of each bank. Elements of tiles beyond the ends of D work, too, and whole
    groups are moved; their products are not counted.

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


COVERAGES = ("uncover 1", "uncover 2", "uncover 3", "cover 1", "cover 2", "cover 3", "vector")
"""The cases of the paper's section 5; of vector operations there is none."""


def coverage(down: int, across: int, rows: int, cols: int) -> str:
    """The case of ``down`` x ``across`` limbs on ``rows`` x ``cols`` elements.

    *uncover 1*: it exceeds the array neither way, and does not fill it; *cover 1*: it is at least
    as large both ways. Otherwise it exceeds the rows (2) or the columns (3), and is as large as the
    array in all (*cover*), so that parts of it side by side fill it, or is not (*uncover*).
    """
    if down >= rows and across >= cols:
        return "cover 1"
    if down <= rows and across <= cols:
        return "uncover 1"
    name = "cover" if down * across >= rows * cols else "uncover"
    return f"{name} {2 if down > rows else 3}"


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """A schedule and what it takes.

    Parameters
    ----------
    schedule: the schedule
    coverage: one of ``COVERAGES``
    cost: in all
    utilisation: products of limbs over those that all lanes could do in these cycles
    """

    schedule: Schedule
    coverage: str
    cost: Cost
    utilisation: float


def evaluate(
    config: GtaConfig, problem: PGemm, schedule: Schedule, pipeline: Pipeline = PIPELINE
) -> Evaluated:
    """Exactly, as commands follow each other whose blocks are on chip in time.

    Raises ValueError if the configuration has not the format or the lanes, if floats do not flow
    so, if a fold does not fit (DoesNotFit), or if nothing is left over to fill the array with.
    """
    job = ArrayJob(
        m=problem.m,
        n=problem.n,
        k=problem.k,
        format=problem.format,
        dataflow=schedule.dataflow,
        rows=schedule.rows,
        cols=schedule.cols,
        segments=schedule.segments,
    )
    job.check(config)
    if schedule.filled:
        cost = _filled(config, problem, schedule, pipeline)
    elif schedule.dataflow == "simd":
        cost = vector_cost(config, problem, schedule, pipeline)
    else:
        cost = segmented_cost(config, job, problem, schedule, pipeline)
    known = "vector" if schedule.dataflow == "simd" else coverage(*extents(job), *job.array)
    places = ROWS * COLS * config.lanes
    return Evaluated(
        schedule=schedule,
        coverage=known,
        cost=cost,
        utilisation=problem.limb_products / (cost.cycles * places),
    )


def extents(job: ArrayJob) -> tuple[int, int]:
    """Returns the lengths laid over rows and columns of the array, K's segments in sequence."""
    length = 1 if is_float(job.format) else limbs(job.format)
    if job.dataflow == "os":
        return job.m * length, job.n * length
    return job.k, (job.n if job.dataflow == "ws" else job.m) * length


def _filled(config: GtaConfig, problem: PGemm, schedule: Schedule, pipeline: Pipeline) -> Cost:
    """The full folds, and behind them what is left over."""
    parts = cut(problem, schedule)
    if parts is None:
        raise ValueError(f"nothing is left over to fill the array with in {schedule.words}")
    full, rest = parts
    plain = replace(schedule, filled=False)
    return evaluate(config, full, plain, pipeline).cost + left_over(config, rest, pipeline).cost


@cache
def left_over(config: GtaConfig, rest: PGemm, pipeline: Pipeline = PIPELINE) -> Evaluated:
    """Evaluates the remaining part on the layout and in the dataflow of the fewest cycles, then the
    fewest accesses and bytes."""
    found = []
    flows = ("os",) if is_float(rest.format) else ("ws", "is", "os")
    ways = [
        Schedule(dataflow=dataflow, rows=rows, cols=cols, lateral=lateral)
        for dataflow, (rows, cols), lateral in product(flows, layouts(config.lanes), (True, False))
    ]
    for one in (*ways, *vector_schedules(config.lanes)):
        with suppress(DoesNotFit):
            found.append(evaluate(config, rest, one, pipeline))
    return min(
        found, key=lambda one: (one.cost.cycles, one.cost.accesses.total, one.cost.moved.total)
    )


def cut(problem: PGemm, schedule: Schedule) -> tuple[PGemm, PGemm] | None:
    """Full folds in the tiling direction, and what is left over; None if either is nothing.

    What is left over of K is added to the sums of the rest.
    """
    length = 1 if is_float(problem.format) else limbs(problem.format)
    rows, cols = ROWS * schedule.rows, COLS * schedule.cols
    lateral, dataflow = schedule.lateral, schedule.dataflow
    if dataflow == "simd" or schedule.segments > 1:
        return None
    axis = {"ws": "kn", "is": "km", "os": "mn"}[dataflow][lateral]
    unit = cols if lateral else rows
    unit = unit if axis == "k" else unit // length
    size = getattr(problem, axis)
    rest = size % unit
    if not rest or rest == size:
        return None
    later = replace(problem, **{axis: rest, "accumulate": problem.accumulate or axis == "k"})
    return replace(problem, **{axis: size - rest}), later


@dataclass(frozen=True)
class FilledChoice:
    """A choice for both parts, which run one after the other, one job each.

    Parameters
    ----------
    full: of the full folds
    rest: of what is left over, on the layout and in the dataflow that take fewest cycles
    axis: which of M, N and K is cut, as its number
    at: where
    """

    full: Choice
    rest: Choice
    axis: int
    at: int

    @property
    def cycles(self) -> int:
        """About how many both take."""
        return self.full.cycles + self.rest.cycles

    @property
    def cost(self) -> tuple[int, int]:
        """The cost that the best choice minimises: cycles, then elements loaded."""
        return self.cycles, self.full.tiling.loaded + self.rest.tiling.loaded

    @property
    def schedule(self) -> Schedule:
        """The schedule, in the terms of the space of schedules."""
        return replace(self.full.schedule, filled=True)


def filled_candidates(
    config: GtaConfig,
    format: str,
    sizes: tuple[int, int, int],
    *,
    result: str = "wrap",
    dataflow: str = "auto",
    layout: tuple[int, int] | None = None,
    lateral: bool = True,
    overlap: bool = True,
) -> list[FilledChoice]:
    """The best tiles of both parts for each layout and dataflow that is left and leaves something
    over. Sums that are narrowed at the end are not cut along K."""
    m, n, k = sizes
    problem, found = PGemm(m=m, n=n, k=k, format=format), []
    flags: dict[str, Any] = {"result": result, "lateral": lateral, "overlap": overlap}
    for one in candidates(config, format, sizes, dataflow=dataflow, layout=layout, **flags):
        schedule = one.schedule
        parts = cut(problem, schedule)
        if parts is None or (parts[0].k < k and result == "saturate"):
            continue
        own, others = ((part.m, part.n, part.k) for part in parts)
        where = (schedule.rows, schedule.cols)
        full = choose(config, format, own, dataflow=schedule.dataflow, layout=where, **flags)
        rest = choose(config, format, others, result=result, overlap=overlap)
        if full and rest:
            axis = [a == b for a, b in zip(own, sizes, strict=True)].index(False)
            found.append(FilledChoice(full, rest, axis, own[axis]))
    return found


def choose_filled(
    config: GtaConfig, format: str, sizes: tuple[int, int, int], **settings: Any
) -> FilledChoice:
    """Chooses the candidate of the fewest cycles. Raises ValueError if nothing is left over."""
    found = filled_candidates(config, format, sizes, **settings)
    if not found:
        m, n, k = sizes
        raise ValueError(
            f"`filled` must be False where nothing is left over, as of {m} x {n} x {k} in {format} "
            "in the dataflow, layout and direction that are given"
        )
    return min(found, key=lambda one: one.cost)
