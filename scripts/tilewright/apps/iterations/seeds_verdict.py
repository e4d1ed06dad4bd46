"""Seeds of k-means++ beside those that the same draws give in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import FloatFormat, Format
from ...sim.sida.iterations.seeding import Seeds
from .verdict import Verdict

__all__ = ["against_draws"]

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
