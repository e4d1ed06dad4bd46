"""Seeds of k-means++, a pass for each, held against the same draws in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import UserError
from ...sim.sida.iterations.distances import DISTANCES
from ...sim.sida.iterations.seeding import Coincide, Seeds, draw_seeds, seeding
from ...sim.sida.result.products import Rules
from ...sim.sida.step_driver import StepDriver
from ..common.rounding import check_integers, round_to, warn_rounding
from ..common.words import counted
from .application import Application, finish
from .inputs import Source
from .options import SidaChoice
from .seeds_verdict import against_draws
from .session import run_steps

__all__ = ["draw_clusters"]

_SHOWN = 8


def draw_clusters(
    choice: SidaChoice, file: Path, points: Any, clusters: int, *, seed: int, distance: str
) -> None:
    """Draw the seeds of so many clusters of a matrix's rows, and report."""
    count, fmt = points.shape[0], choice.config.format
    second, _ = DISTANCES[distance]
    rounded = round_to(points.data, fmt)
    check_integers(file, rounded, fmt)
    points.data = np.asarray(rounded.values, np.float64)
    try:
        problem = seeding(Rules.of(choice.config), points, distance)
    except ValueError as error:
        raise UserError(f"{file}: {error}") from None

    def host(steps: StepDriver) -> Seeds:
        try:
            return draw_seeds(steps, fmt, count, clusters, np.random.default_rng(seed))
        except ValueError as error:
            raise UserError(f"{file}: {error}") from None

    try:
        seeds, run = run_steps(choice, problem, clusters, host)
    except Coincide as found:
        raise UserError(
            f"{file}: has points at {counted(found.seeds, 'place')} alone; --clusters must be at "
            f"most {found.seeds}, not {clusters}"
        ) from None
    # Not before what may still refuse the points.
    warn_rounding(file, rounded, fmt)
    verdict, same = against_draws(fmt, seeds, points, distance, seed)
    numbers = [one + 1 for one in seeds.chosen]
    more = f", and {clusters - _SHOWN} more" if clusters > _SHOWN else ""
    rows = [
        ("seeds", ", ".join(map(str, numbers[:_SHOWN])) + more),
        ("draws", f"generator {seed}; {same} of {clusters} seeds are those of float64"),
        ("distances", f"{distance}, squared; {seeds.totals[-1]:.9g} in all"),
        ("products", f"aril-add, and {second} with the transpose"),
    ]
    source = Source(
        path=file,
        kind="points",
        text=f"{count:,} of {points.shape[1]:,} features",
        details={"rows": count, "columns": points.shape[1]},
    )
    finish(
        Application(app="kmeanspp", what="k-means++", choice=choice, source=source,
                    problem=problem),
        run, seeds.nearest, rows,
        {"clusters": clusters, "seed": seed, "distance": distance, "seeds": numbers,
         "totals": list(seeds.totals), "same": same},
        verdict, moves=None,
    )  # fmt: skip
