"""What the driver may choose from, beside what the model of schedules says of it."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from ....hw.spec.gta import GtaConfig
from ....sim.gta.schedule.choice import ranked
from ....sim.gta.schedule.filled_choice import FilledChoice, filled_candidates
from ....sim.gta.schedule.pgemm import PGemm
from ....sim.gta.schedule.space import space
from ....sim.gta.tiles.choice import Choice, candidates
from ..tally import GtaTally
from .asked import Asked

__all__ = ["explained_choices"]

_COLUMNS = ("tiles", "cycles, estimated", "array's cycles", "accesses", "score")


def explained_choices(config: GtaConfig, asked: Asked, tally: GtaTally) -> Table:
    """Of the product that takes the most cycles, what the driver estimates, the chosen one first;
    and the score of the same schedule in the space of all: 2 is the best there may be. Filled ones
    are taken only if they are asked for; tiles are those of their full folds."""
    problem = tally.by_cycles()[0]
    table = Table(
        title=f"schedules of {problem.m:,} x {problem.n:,} x {problem.k:,} in {problem.format}: "
        "what the driver estimates",
        title_justify="left",
    )
    table.add_column("schedule", no_wrap=True)
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    known = {one.evaluated.schedule: one for one in ranked(space(config, _plain(problem)))}
    sizes = problem.m, problem.n, problem.k
    settings: dict[str, Any] = {
        "dataflow": asked.dataflow or "auto",
        "layout": asked.layout,
        "lateral": asked.lateral is not False,
    }
    found: list[Choice | FilledChoice] = []
    if not asked.filled:
        found += candidates(config, problem.format, sizes, segments=asked.segments, **settings)
    if asked.filled is not False and asked.segments in (None, 1):
        found += filled_candidates(config, problem.format, sizes, **settings)
    taken = tally.chosen[problem].schedule
    # Of those that take about as many the driver takes the one that loads least.
    for one in sorted(found, key=lambda one: (one.schedule != taken, one.cost)):
        tiling = one.tiling if isinstance(one, Choice) else one.full.tiling
        schedule = one.schedule
        cells = [f"{tiling.m}x{tiling.n}x{tiling.k}", f"{one.cycles:,}"]
        scored = known.get(schedule)
        if scored:
            cost = scored.evaluated.cost
            cells += [f"{cost.cycles:,}", f"{cost.accesses.total:,}", f"{scored.score:.4g}"]
        table.add_row(schedule.words, *cells)
    return table


def _plain(problem: PGemm) -> PGemm:
    """What C adds is the same for all."""
    return PGemm(m=problem.m, n=problem.n, k=problem.k, format=problem.format)
