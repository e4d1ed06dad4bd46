"""A space of schedules as lines of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ....hw.spec.gta import GtaConfig, is_float
from ..array_cycles import PIPELINE, Pipeline
from ..array_job import Schedule, layouts
from ..vector.tiling import vector_schedules
from .cost import PGemm
from .evaluate import Evaluated, cut, evaluate
from .segmented_cost import DoesNotFit

MOST_SEGMENTS = 4
"""Most segments of floats, whose only gain is smaller blocks; the lanes limit those of integers."""


def schedules(config: GtaConfig, problem: PGemm) -> Iterator[Schedule]:
    """Dataflow x layout x segments x tiling direction; and with what is left over filled in, where
    something is left over beside full folds. Vectors lie over all lanes."""
    floats = is_float(problem.format)
    most = min(problem.k, MOST_SEGMENTS if floats else config.lanes)
    for dataflow in ("os",) if floats else ("ws", "is", "os"):
        segments = 1
        while segments <= most:
            for rows, cols in layouts(config.lanes if floats else config.lanes // segments):
                for lateral in (True, False):
                    one = Schedule(
                        dataflow=dataflow,
                        rows=rows,
                        cols=cols,
                        segments=segments,
                        lateral=lateral,
                    )
                    yield one
                    if config.lanes > 1 and cut(problem, one):
                        yield replace(one, filled=True)
            segments *= 2
    yield from vector_schedules(config.lanes)


def space(config: GtaConfig, problem: PGemm, pipeline: Pipeline = PIPELINE) -> list[Evaluated]:
    """Each with what it takes; without those whose folds do not fit the memories of lanes, and
    without segments of floats no longer than blocks are anyway."""
    found: list[Evaluated] = []
    for schedule in schedules(config, problem):
        with suppress(DoesNotFit):
            one = evaluate(config, problem, schedule, pipeline)
            if not (is_float(problem.format) and _again(one, found)):
                found.append(one)
    return found


def _again(one: Evaluated, found: list[Evaluated]) -> bool:
    """Returns whether the same schedule with other segments has the same cost."""
    return any(
        other.cost == one.cost
        and replace(other.schedule, segments=1) == replace(one.schedule, segments=1)
        for other in found
    )


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """A schedule of a space.

    Parameters
    ----------
    evaluated: the schedule
    cycles, accesses: over the least of the space
    """

    evaluated: Evaluated
    cycles: float
    accesses: float

    @property
    def score(self) -> float:
        """The sum of both squares: 2 at best."""
        return self.cycles**2 + self.accesses**2


def ranked(found: Sequence[Evaluated], *, port: bool = False) -> list[Ranked]:
    """The least score first; among equals the one that moves less, then the first of the space.

    Cycles are the array's, or with ``port`` those of the memory port where these are more.

    Source: the paper's section 5, "the least sum of squares" of normalised outcomes.
    """
    cycles = [one.cost.time if port else one.cost.cycles for one in found]
    accesses = [one.cost.accesses.total for one in found]
    each = [
        Ranked(evaluated=one, cycles=own / min(cycles), accesses=taken / min(accesses))
        for one, own, taken in zip(found, cycles, accesses, strict=True)
    ]
    return sorted(each, key=lambda one: (one.score, one.evaluated.cost.moved.total))


def choose(config: GtaConfig, problem: PGemm, *, port: bool = False) -> Evaluated:
    """The schedule of least score."""
    return ranked(space(config, problem), port=port)[0].evaluated


COLUMNS: tuple[str, ...] = (
    "cycles", "busy, %", "a", "b", "sums in", "sums out", "bytes", "cycles over least",
    "accesses over least", "score",
)  # fmt: skip
"""Columns of a line. From a to sums out: accesses; these, cycles and bytes are in thousands."""

_THOUSAND = 1000


@dataclass(frozen=True, kw_only=True)
class Line:
    """A schedule.

    Parameters
    ----------
    label: the schedule and how it covers the array
    figures: see ``COLUMNS``
    """

    label: str
    figures: tuple[float, ...]


def explain(found: Sequence[Ranked]) -> list[Line]:
    """Returns the table's lines in the given order; `ranked` puts the chosen schedule first."""
    lines = []
    for one in found:
        each, cost = one.evaluated, one.evaluated.cost
        accesses = cost.accesses
        counts = (accesses.a, accesses.b, accesses.sums_read, accesses.sums_written)
        figures = (
            cost.cycles / _THOUSAND,
            100 * each.utilisation,
            *(count / _THOUSAND for count in (*counts, cost.moved.total)),
            one.cycles,
            one.accesses,
            one.score,
        )
        lines.append(Line(label=f"{each.schedule.words}: {each.coverage}", figures=figures))
    return lines
