"""Formulas of area, time and energy over the size of a macro, fitted by least squares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["TERMS", "Errors", "Fit", "Size", "deviations", "fitted", "inside", "rows_of"]

Size = tuple[int, int]
"""Words of a macro, and their bits."""


def rows_of(words: int) -> float:
    """Rows of the array: four words share one up to 2,048 words, eight beyond that, as in IHP's
    macros."""
    return words / (4 if words <= 2048 else 8)


TERMS: Mapping[str, Callable[[int, int], float]] = {
    "1": lambda words, width: 1.0,
    "bits": lambda words, width: float(words * width),
    "width": lambda words, width: float(width),
    "rows": lambda words, width: rows_of(words),
    "sqrt(bits)": lambda words, width: float(words * width) ** 0.5,
    "sqrt(rows over 64)": lambda words, width: max(rows_of(words) - 64, 0.0) ** 0.5,
}
"""Terms of a formula, by name."""


@dataclass(frozen=True)
class Errors:
    """Errors of a formula at the macros that it is fitted over, in percent of their figure.

    Members
    -------
    largest, rms: of the formula
    left_out_largest, left_out_rms: at each macro, of a formula that is fitted over all others
    """

    largest: float
    rms: float
    left_out_largest: float
    left_out_rms: float

    def __str__(self) -> str:
        left_out = f"{self.left_out_largest:.1f} % (rms {self.left_out_rms:.1f} %)"
        return f"up to {self.largest:.1f} % (rms {self.rms:.1f} %), left out up to {left_out}"


@dataclass(frozen=True)
class Fit:
    """A sum of terms of :data:`TERMS`, each with its coefficient."""

    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    errors: Errors

    def at(self, words: int, width: int) -> float:
        """The figure of a macro of this size."""
        pairs = zip(self.terms, self.coefficients, strict=True)
        return sum(factor * TERMS[term](words, width) for term, factor in pairs)

    def __str__(self) -> str:
        pairs = zip(self.terms, self.coefficients, strict=True)
        parts = [f"{factor:.4g}" + ("" if t == "1" else f" {t}") for t, factor in pairs]
        return " + ".join(parts).replace("+ -", "- ")


def _solved(
    rows: npt.NDArray[np.float64], values: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The coefficients with the least squares of relative errors."""
    solved, _, rank, _ = np.linalg.lstsq(rows / values[:, None], np.ones(len(values)), rcond=None)
    if rank < rows.shape[1]:
        raise ValueError(f"{len(rows)} macros do not decide a formula of {rows.shape[1]} terms")
    return np.asarray(solved, dtype=np.float64)


def deviations(
    terms: Sequence[str], sizes: Sequence[Size], figures: Sequence[float]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The coefficients with the least squares of relative errors over macros; at each of these the
    error in percent, and that of the same formula fitted over all others.

    Raises ValueError if the macros are too few, or too much alike, for so many terms.
    """
    rows = np.array([[TERMS[term](*size) for term in terms] for size in sizes])
    values = np.array(figures, dtype=float)
    if len(sizes) <= len(terms):
        raise ValueError(f"{len(sizes)} macros do not decide a formula of {len(terms)} terms")
    found = _solved(rows, values)
    left_out = np.zeros(len(values))
    for number in range(len(values)):
        others = np.arange(len(values)) != number
        without = _solved(rows[others], values[others])
        left_out[number] = 100 * (rows[number] @ without / values[number] - 1)
    return found, 100 * (rows @ found / values - 1), left_out


def fitted(terms: Sequence[str], sizes: Sequence[Size], figures: Sequence[float]) -> Fit:
    """The formula with the least squares of relative errors; errors as ``deviations``."""
    found, *each = deviations(terms, sizes, figures)
    numbers = [
        float(number)
        for errors in each
        for number in (np.abs(errors).max(), np.sqrt(np.mean(errors**2)))
    ]
    return Fit(tuple(terms), tuple(found.tolist()), Errors(*numbers))


def inside(sizes: Sequence[Size], size: Size) -> bool:
    """Returns whether a size is in the convex hull of others, words on a logarithmic scale."""
    here = np.array([np.log2(size[0]), size[1]])
    points = np.array([[np.log2(words), width] for words, width in sizes]) - here
    if not np.abs(points).sum(axis=1).all():
        return True
    # Inside, no half plane has all of the points: their directions leave no gap of half a turn.
    turns = np.sort(np.arctan2(points[:, 1], points[:, 0]))
    gaps = np.diff(turns, append=turns[0] + 2 * np.pi)
    return bool(gaps.max() <= np.pi + 1e-9)
