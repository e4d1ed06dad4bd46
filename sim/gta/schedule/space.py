"""All schedules of a p-GEMM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from ....hw.spec.gta import GtaConfig, is_float
from ..array_schedule import Schedule
from ..layouts import layouts
from ..pipeline import PIPELINE, Pipeline
from ..vector.choice import vector_schedules
from .blocks import DoesNotFit
from .evaluate import Evaluated, cut, evaluate
from .pgemm import PGemm

__all__ = ["MOST_SEGMENTS", "schedules", "space"]

MOST_SEGMENTS = 4
"""Of floats, whose segments win nothing but smaller blocks; those of integers end at the lanes."""


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
    """Whether the same schedule of fewer segments takes the same."""
    return any(
        other.cost == one.cost
        and replace(other.schedule, segments=1) == replace(one.schedule, segments=1)
        for other in found
    )
