"""Biconjugate gradients, stabilised: two products an iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ..result.products import Rules
from .conjugate import right_side
from .graphs import columns_of
from .jobs import Found, Job, Machine, Method, Setup, together

__all__ = ["PROGRAMS", "biconjugate_gradients"]

PROGRAMS = together(
    """
vector direction
vector image                # of the direction
vector residual             # behind the half step, and behind the step
vector turned               # image of the residual of the half step
vector shadow
vector x
reduce began max            # shadow times the residual that the iteration begins with
reduce fresh sum            # the same behind it
reduce shadowed sum         # shadow times image
reduce alpha max            # began over shadowed
reduce half sum             # the squared residual of the half step
reduce across sum           # turned times that residual
reduce along sum            # turned times itself
reduce omega max            # across over along
reduce square sum           # the squared residual
""",
    {
        "image": """
e1:
    store image, y
    load r1, shadow
    mul r1, r1, y
    reduce shadowed, r1
    reduce began, fresh
    out y
""",
        "half": """
e1:
    div r1, began, shadowed
    reduce alpha, r1
    neg r1, r1
    load r2, image
    load r3, residual
    fma r3, r1, r2, r3
    store residual, r3
    mul r4, r3, r3
    reduce half, r4
    out r3
""",
        "turn": """
e1:
    store turned, y
    load r1, residual
    mul r1, r1, y
    reduce across, r1
    mul r2, y, y
    reduce along, r2
    out y
""",
        "step": """
e1:
    div r2, across, along
    reduce omega, r2
    load r3, direction
    load r4, x
    fma r4, alpha, r3, r4
    load r5, residual
    fma r4, r2, r5, r4
    store x, r4
    neg r2, r2
    load r6, turned
    fma r5, r2, r6, r5
    store residual, r5
    load r7, shadow
    mul r7, r7, r5
    reduce fresh, r7
    mul r8, r5, r5
    reduce square, r8
    out r5
e2:
    div r1, alpha, omega
    div r3, fresh, began
    mul r1, r3, r1
    neg r2, omega
    load r3, image
    load r4, direction
    fma r4, r2, r3, r4
    load r5, residual
    fma r4, r1, r4, r5
    store direction, r4
    out r4
""",
        "end": """
e1:
    load r2, direction
    load r3, x
    fma r3, alpha, r2, r3
    store x, r3
    out r3
""",
    },
)
"""An iteration is four jobs: *image* and *turn* go over the matrix, *half* and *step* over the
vectors. *end* is in place of the last two where the half step has converged.

Source: van der Vorst, Bi-CGSTAB (1992)."""


def biconjugate_gradients(
    rules: Rules, matrix: Any, right: npt.ArrayLike, *, tolerance: float
) -> Method:
    """The solution of ``matrix`` times it equals ``right``, from 0 on, until the residual is less
    than ``tolerance`` times the right side, in the 2-norm.

    Raises ValueError if the right side is 0.
    """
    b = right_side(right, tolerance, rules.fmt)
    setup = Setup(
        size=len(b.values),
        # A product is a vector's with columns.
        matrices={"matrix": columns_of(csr_array(matrix).T, rules.fmt)},
        programs=PROGRAMS,
        vectors={
            **dict.fromkeys(("direction", "residual", "shadow"), b.given),
            **dict.fromkeys(("image", "turned", "x"), b.nothing),
        },
        given={"fresh": float(b.values @ b.values)},
    )

    def host(machine: Machine, most: int) -> Found:
        residuals = [b.norm]
        why, settled = "", False
        while not settled and len(residuals) <= most:
            machine.run(Job(program="image", x="direction", matrix="matrix", second=False))
            why = _breaks(machine.scalars(), "shadowed", "the shadow times the direction's image")
            if why:
                break
            machine.run(Job(program="half", x="residual", second=False))
            half = float(np.sqrt(machine.scalars()["half"]))
            if b.solved(half):
                machine.run(Job(program="end", x="direction", second=False))
                residuals.append(half)
                settled = True
                break
            machine.run(Job(program="turn", x="residual", matrix="matrix", second=False))
            why = _breaks(machine.scalars(), "along", "the square of the residual's image")
            if why:
                break
            machine.run(Job(program="step", x="direction"))
            found = machine.scalars()
            residuals.append(float(np.sqrt(found["square"])))
            settled = b.solved(residuals[-1])
            if not settled:
                why = _breaks(found, "fresh", "the shadow times the residual")
                why = why or _breaks(found, "across", "the residual times its image")
                if why:
                    break
        return Found(
            result="x", iterations=len(residuals) - 1, settled=settled, residuals=tuple(residuals),
            why=why,
        )  # fmt: skip

    return Method(setup=setup, host=host, limit=b.limit)


def _breaks(scalars: dict[str, float], name: str, what: str) -> str:
    """Why a sum that something is divided by ends the iterations, if it does."""
    value = scalars[name]
    return "" if np.isfinite(value) and value else f"{what} is {value:g}"
