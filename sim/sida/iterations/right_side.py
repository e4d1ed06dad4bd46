"""The right side of a system of equations, as solvers begin with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import Format
from ...numbers.values import Patterns
from .graphs import vector_of

__all__ = ["RightSide", "right_side"]


@dataclass(frozen=True, kw_only=True)
class RightSide:
    """Of a system that is solved from 0 on.

    Parameters
    ----------
    values: in float64
    given, nothing: (size, 1) patterns, of the right side and of zeros
    limit: a residual that is small enough is less, in the 2-norm, or 0
    """

    values: npt.NDArray[np.float64]
    given: Patterns
    nothing: Patterns
    limit: float

    @property
    def norm(self) -> float:
        """In the 2-norm: the residual before the first iteration."""
        return float(np.linalg.norm(self.values))

    def solved(self, residual: float) -> bool:
        """Whether a residual is small enough; 0 always is."""
        return residual < self.limit or residual == 0


def right_side(right: npt.ArrayLike, tolerance: float, fmt: Format) -> RightSide:
    """``tolerance``: of the residual, over the right side. Raises ValueError if that is 0."""
    values = np.asarray(right, np.float64)
    if not values.any():
        raise ValueError("`right` must not be 0")
    return RightSide(
        values=values,
        given=vector_of(values, fmt),
        nothing=vector_of(np.zeros(len(values)), fmt),
        limit=tolerance * float(np.linalg.norm(values)),
    )
