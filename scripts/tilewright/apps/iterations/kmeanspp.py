"""Seeds of k-means++, a pass for each, held against the same draws in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FloatFormat, Format
from ...sim.sida.iterations.distances import DISTANCES
from ...sim.sida.iterations.seeding import Coincide, Seeds, draw_seeds, seeding
from ...sim.sida.result.products import Rules
from ...sim.sida.sequence_driver import StepDriver
from ..common.limits import counted
from ..common.rounding import check_integers, round_to, warn_rounding
from ..common.units.sida import SidaChoice
from ..common.units.sida_report import Verdict
from ..common.units.sida_runs import run_steps
from .application import Application, finish
from .inputs import Source

__all__ = ["against_draws", "draw_clusters"]


Floats = NDArray[np.float64]
_DOUBLE = 2.0**-52


def against_draws(
    fmt: Format, seeds: Seeds, points: Any, distance: str, generator: int
) -> tuple[Verdict, int]:
    """Distances to the nearest seed by SciPy; and of each draw whether it could be that of the
    distances to the seeds before it, as far as their roundings go.

    Parameters
    ----------
    points: SciPy CSR, as rounded
    distance: see ``seeding``
    generator: what it was seeded with

    Returns how many seeds are those of float64, too.
    """
    squares = np.asarray(points.multiply(points).sum(axis=1)).ravel()
    unit = 2.0**-fmt.significand_bits + _DOUBLE if isinstance(fmt, FloatFormat) else 0.0
    # Roundings of the products and the sums of a row, of both squares, and behind them.
    allowed = (4 * int(np.diff(points.indptr).max()) + 16) * unit
    scale = squares + squares[list(seeds.chosen)].max()
    slack = (allowed + len(squares) * (unit + _DOUBLE)) * float(scale.sum())
    rng = np.random.default_rng(generator)
    number, same, wrong = int(rng.integers(len(squares))), 0, 0
    nearest = np.full(len(squares), np.inf)
    # The first one is drawn evenly.
    shares, target, width = np.ones(len(squares)), number + 0.5, 0.0
    for chosen in seeds.chosen:
        same += chosen == number
        end = float(shares[: chosen + 1].sum())
        wrong += not end - shares[chosen] - width <= target <= end + width
        nearest = np.minimum(nearest, _squared(points, chosen, distance, squares))
        nearest[chosen] = 0
        shares, width = nearest, slack
        sums = np.cumsum(nearest)
        target = rng.random() * sums[-1]
        number = int(np.searchsorted(sums, target, side="right"))
    different = np.abs(seeds.nearest - nearest) / np.where(scale, scale, 1)
    verdict = Verdict(
        source="SciPy's distances, and NumPy's draws",
        measure="largest difference, relative to the squares",
        error=float(different.max()),
        allowed=allowed,
        wrong=wrong + int(np.count_nonzero(~(different <= allowed))),
    )
    return verdict, same


def _squared(points: Any, seed: int, distance: str, squares: Floats) -> Floats:
    """Distances of all points to one of them."""
    z = points[[seed]].toarray().ravel()
    if distance == "stored":
        owners = np.repeat(np.arange(len(squares)), np.diff(points.indptr))
        terms = (z[points.indices] - points.data) ** 2
        found: Floats = np.bincount(owners, terms, len(squares)).astype(np.float64)
    else:
        found = np.maximum(squares - 2 * (points @ z) + squares[seed], 0)
    return found


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
