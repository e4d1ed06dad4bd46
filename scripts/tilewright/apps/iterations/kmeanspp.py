"""``tilewright run kmeanspp``: seeds of k-means++, a pass for each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ...errors import UserError
from ...numbers_given import whole
from ...sim.sida.iterations.seeding import DISTANCES, Coincide, Seeds, draw_seeds, seeding
from ...sim.sida.result.products import Rules
from ...sim.sida.step_driver import StepDriver
from ..common.rounding import round_to, warn_rounding
from ..common.words import counted
from .application import Application, Source, finish, matrix_of
from .options import SidaOptions, choose_sida
from .seeds_verdict import against_draws
from .session import run_steps

__all__ = ["kmeanspp"]

_SHOWN = 8


def kmeanspp(
    file: Annotated[
        Path, typer.Argument(metavar="POINTS", help="A point a row, .mtx or .npy.")
    ],
    clusters: Annotated[
        int, typer.Option(parser=whole("--clusters", 1), metavar="K", help="Seeds to be drawn.")
    ] = 8,
    seed: Annotated[
        int,
        typer.Option(parser=whole("--seed", 0, (1 << 63) - 1), metavar="S",
                     help="Of the generator that draws."),
    ] = 0,
    distance: Annotated[
        str,
        typer.Option(help="euclidean; stored: over the coordinates alone that a point stores "
                          "(add-norm)."),
    ] = "euclidean",
    *,
    options: SidaOptions,
) -> None:  # fmt: skip
    """Draw the seeds of k-means++: each point by its squared distance to the nearest seed before.

    Points are the rows of a matrix, square or not. Values that -o writes are those distances,
    behind the last seed. They are checked against SciPy's, draws against the same ones in float64.
    """
    if options.max_iterations is not None:
        raise UserError(
            "--max-iterations and kmeanspp exclude each other: --clusters says how many"
        )
    if distance not in DISTANCES:
        raise UserError(f"--distance must be one of {', '.join(DISTANCES)}, not {distance!r}")
    choice = choose_sida(options, "kmeanspp", "aril-add", floats=False)
    second, _ = DISTANCES[distance]
    if second not in choice.config.semirings:
        raise UserError(
            f"`semirings` must have {second} for --distance {distance}, not "
            f"{', '.join(choice.config.semirings)} alone"
        )
    points = matrix_of(choice, file, square=False)
    count, fmt = points.shape[0], choice.config.format
    if clusters > count:
        raise UserError(f"--clusters must be in 1..{count}, the rows of {file}, not {clusters}")
    rounded = round_to(points.data, fmt)
    warn_rounding(file, rounded, fmt)
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
