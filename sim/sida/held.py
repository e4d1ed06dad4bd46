"""Counts the elements that the OEI dataflow buffers to read each element of a matrix once.

A step is ``subtensor`` columns. The first product, output-stationary, takes the elements of a
step's columns; the second, input-stationary, may take those of a row two steps after the step of
the column of that number, when its element of the vector has been computed. So an element waits
from the step of its column until then, unless that is over already: the elements below the
diagonal wait, those above it are used twice in one step.

Source: Exploiting data reuse with inter-operator dataflow, OEI dataflow and its table of portions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...hw.spec.sida import DELAY

__all__ = ["Held", "held"]


@dataclass(frozen=True, kw_only=True)
class Held:
    """Elements that wait from one step to the next.

    Parameters
    ----------
    elements: of the matrix
    steps: of a pass, those in which columns come
    peak: most elements that wait at the end of a step
    total: the same of all steps, added up
    """

    elements: int
    steps: int
    peak: int
    total: int

    @property
    def mean(self) -> float:
        """Elements that wait, on average over the steps."""
        return self.total / self.steps if self.steps else 0.0

    @property
    def peak_share(self) -> float:
        """The peak as a share of the matrix's elements, 0 to 1."""
        return self.peak / self.elements if self.elements else 0.0

    @property
    def mean_share(self) -> float:
        """The mean as a share of the matrix's elements, 0 to 1."""
        return self.mean / self.elements if self.elements else 0.0


def held(
    rows: npt.NDArray[np.integer], cols: npt.NDArray[np.integer], size: int, subtensor: int = 1
) -> Held:
    """Counts exactly the elements that a pass buffers, in time and memory linear in all elements.

    Parameters
    ----------
    rows, cols: (elements,) places, each once, from 0
    size: rows, and columns, of the matrix
    subtensor: columns of a step

    Raises
    ------
    ValueError if a place is outside the matrix, or ``subtensor`` less than 1.
    """
    if subtensor < 1:
        raise ValueError(f"`subtensor` must be at least 1, not {subtensor}")
    if len(rows) != len(cols):
        raise ValueError(f"`cols` must be as many as `rows`, {len(rows)}, not {len(cols)}")
    for name, places in (("rows", rows), ("cols", cols)):
        if len(places) and not 0 <= int(places.min()) <= int(places.max()) < size:
            wrong = places[(places < 0) | (places >= size)][0]
            raise ValueError(f"`{name}` must be in 0..{size - 1}, not {wrong}")
    steps = -(-size // subtensor)
    comes = cols // subtensor
    goes = np.maximum(comes, rows // subtensor + DELAY)
    change = np.bincount(comes, minlength=steps + DELAY).astype(np.int64)
    change -= np.bincount(goes, minlength=steps + DELAY)
    waiting = np.cumsum(change)[:steps]
    peak = int(waiting.max(initial=0))
    return Held(elements=len(rows), steps=steps, peak=peak, total=int(waiting.sum()))
