"""Conjugate gradients, a product an iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ....hw.spec.formats import Format
from ...numbers.values import Patterns
from ..result.products import Rules
from .graphs import columns_of, vector_of
from .jobs import Found, Job, Machine, Method, Setup, together


@dataclass(frozen=True, kw_only=True)
class RightSide:
    """Right side of a system that is solved from an initial vector of zeros.

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
        """Its 2-norm, which is the residual before the first iteration."""
        return float(np.linalg.norm(self.values))

    def solved(self, residual: float) -> bool:
        """Tells whether a residual is small enough; 0 always is."""
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


PROGRAMS = together(
    """
vector direction
vector image
vector residual
vector x
reduce began max            # the squared residual that the step begins with
reduce curve sum            # of the direction and its image
reduce square sum           # of the residual
""",
    {
        "image": """
e1:
    store image, y
    load r1, direction
    mul r1, r1, y
    reduce curve, r1
    reduce began, square
    out y
""",
        "step": """
e1:
    div r1, began, curve
    load r2, direction
    load r3, x
    fma r3, r1, r2, r3
    store x, r3
    load r4, image
    neg r1, r1
    load r5, residual
    fma r5, r1, r4, r5
    store residual, r5
    mul r6, r5, r5
    reduce square, r6
    out r5
e2:
    div r1, square, began
    load r2, residual
    load r3, direction
    fma r3, r1, r3, r2
    store direction, r3
    out r3
""",
    },
)
"""An iteration is two jobs: *image* goes over the matrix, *step* over the vectors, E1 as far as the
residual, E2 to the next direction.

Source: Hestenes and Stiefel, Methods of conjugate gradients for solving linear systems (1952)."""


def conjugate_gradients(
    rules: Rules, matrix: Any, right: npt.ArrayLike, *, tolerance: float
) -> Method:
    """The solution of ``matrix`` times it equals ``right``, from 0 on, until the residual is less
    than ``tolerance`` times the right side, in the 2-norm. The matrix must be symmetric, and
    positive definite.

    Raises ValueError if it is not symmetric, or the right side is 0.
    """
    symmetric = csr_array(matrix)
    if (symmetric != symmetric.T).nnz:
        raise ValueError("`matrix` must be symmetric")
    b = right_side(right, tolerance, rules.fmt)
    setup = Setup(
        size=len(b.values),
        matrices={"matrix": columns_of(symmetric, rules.fmt)},
        programs=PROGRAMS,
        vectors={
            **dict.fromkeys(("direction", "residual"), b.given),
            **dict.fromkeys(("image", "x"), b.nothing),
        },
        given={"square": float(b.values @ b.values)},
    )

    def host(machine: Machine, most: int) -> Found:
        residuals = [b.norm]
        why, settled = "", False
        while not settled and len(residuals) <= most:
            machine.run(Job(program="image", x="direction", matrix="matrix", second=False))
            curve = machine.scalars()["curve"]
            if not np.isfinite(curve) or not curve:
                why = f"the direction times its image is {curve:g}"
                break
            machine.run(Job(program="step", x="direction"))
            residuals.append(float(np.sqrt(machine.scalars()["square"])))
            settled = b.solved(residuals[-1])
        return Found(
            result="x", iterations=len(residuals) - 1, settled=settled, residuals=tuple(residuals),
            why=why,
        )  # fmt: skip

    return Method(setup=setup, host=host, limit=b.limit)
