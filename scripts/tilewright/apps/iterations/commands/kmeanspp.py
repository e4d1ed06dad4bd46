"""``tilewright run kmeanspp``: seeds of k-means++, a pass for each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ....numbers_given import whole
from ....sim.sida.iterations.distances import DISTANCES
from ...common.files import ARRAY_NAMES
from ...common.first_lines import check_first_lines
from ...common.units.sida import SidaOptions, choose_sida
from ..options import IterationOptions

__all__ = ["kmeanspp"]


def kmeanspp(
    file: Annotated[
        Path, typer.Argument(metavar="POINTS", help=f"Points, one per row, {ARRAY_NAMES}.")
    ],
    clusters: Annotated[
        int, typer.Option(parser=whole("--clusters", 1), metavar="K",
        help="Number of seeds to draw.")
    ] = 8,
    seed: Annotated[
        int,
        typer.Option(parser=whole("--seed", 0, (1 << 63) - 1), metavar="S",
                     help="Seed of the random generator."),
    ] = 0,
    distance: Annotated[
        str,
        typer.Option(help="euclidean; stored: only over the coordinates that a point stores "
                          "(add-norm)."),
    ] = "euclidean",
    *,
    how: IterationOptions,
    options: SidaOptions,
) -> None:  # fmt: skip
    """Draw the seeds of k-means++: each point by its squared distance to the nearest seed before.

    -o writes the distances after the last seed. Distances are checked against SciPy, and draws
    against the same draws in float64.
    """
    if how.max_iterations is not None:
        raise UserError(
            "--max-iterations and kmeanspp exclude each other: --clusters says how many"
        )
    if distance not in DISTANCES:
        raise UserError(not_one_of("--distance", DISTANCES, distance))
    choice = choose_sida(options, "kmeanspp", "aril-add", output=how.output, floats=False)
    second, _ = DISTANCES[distance]
    if second not in choice.config.semirings:
        raise UserError(
            f"`semirings` must have {second} for --distance {distance}, not "
            f"{', '.join(choice.config.semirings)} alone"
        )
    check_first_lines(file, choice.check_points)
    from ..inputs import matrix_of

    points = matrix_of(choice, file, square=False)
    rows, columns = points.shape
    choice = choice.sized(*max((rows, "rows"), (columns, "columns")))
    if clusters > rows:
        raise UserError(f"--clusters must be in 1..{rows}, the rows of {file}, not {clusters}")
    from ..kmeanspp import draw_clusters

    draw_clusters(choice, file, points, clusters, seed=seed, distance=distance)
