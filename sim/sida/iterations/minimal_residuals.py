"""Generalised minimal residuals, restarted: two products a pass, a sum over both behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ..result.products import Rules
from .graphs import columns_of
from .jobs import Found, Job, Machine, Method, Setup
from .krylov_programs import krylov_programs, most_at_once
from .krylov_space import KrylovSpace, basis_name
from .right_side import right_side

__all__ = ["minimal_residuals"]

_TIGHTER, _LOOSER = 0.25, 1.5
"""What the share of the limit that a cycle aims at changes by."""


def minimal_residuals(
    rules: Rules,
    matrix: Any,
    right: npt.ArrayLike,
    *,
    tolerance: float,
    restart: int = 20,
    words: int = 64,
) -> Method:
    """The solution of ``matrix`` times it equals ``right``, from 0 on, until the residual is less
    than ``tolerance`` times the right side, in the 2-norm.

    Parameters
    ----------
    restart: iterations of a cycle, behind which the solution and its residual are computed, and
        from that residual a new space; at most as many as the matrix has rows
    words: of the program memory: how many vectors of the basis a job goes over

    An iteration is a vector of the space. The residual that is said is in the last one of a cycle
    that of the solution, in the others that of the small problem. A cycle ends when the latter is
    below its goal, which is the limit, or less where that has not been enough, as in SciPy.

    Source: Saad and Schultz, GMRES (1986).

    Raises ValueError if the right side is 0, or ``restart`` less than 1.
    """
    b = right_side(right, tolerance, rules.fmt)
    if restart < 1:
        raise ValueError(f"`restart` must be at least 1, not {restart}")
    fmt, size = rules.fmt, len(b.values)
    restart, at_once = min(restart, size), most_at_once(words)
    programs = krylov_programs(at_once)
    names = {one.name for one in programs["images"].scalars if not one.reduction}
    setup = Setup(
        size=size,
        # A product is a vector's with columns.
        matrices={"matrix": columns_of(csr_array(matrix).T, fmt)},
        programs=programs,
        vectors={
            **dict.fromkeys(("right", "residual"), b.given),
            **dict.fromkeys(("x", "first", "second", *map(basis_name, range(restart))), b.nothing),
        },
        given=dict.fromkeys(names, 0.0),
    )
    with np.errstate(over="ignore"):
        shift = float(csr_array(matrix).diagonal().mean())

    def host(machine: Machine, most: int) -> Found:
        residuals = [b.norm]
        space = KrylovSpace(machine, at_once, shift)
        goal, share, why = b.limit, 1.0, ""
        while not b.solved(residuals[-1]) and not why and len(residuals) <= most:
            before = residuals[-1]
            vectors = min(restart, most + 1 - len(residuals))
            space.begin(before)
            while len(space.residuals) < vectors and not space.ended:
                space.grow(vectors, goal)
            why = space.why
            if not space.residuals:
                break
            coefficients, expected = space.least()
            space.add_to("x", coefficients)
            machine.run(Job(program="residual", x="x", matrix="matrix", second=False))
            left = float(np.sqrt(machine.scalars()["left_1"]))
            residuals += [*space.residuals[:-1], left]
            if not 0 < left < np.inf:
                why = f"the residual is {left:g}"
                break
            if space.closed and before / 2 < left:
                why = "the space has its own image, but not the residual"
            share = _TIGHTER * share if expected < goal else min(1.0, _LOOSER * share)
            goal = expected * min(share, b.limit / left)
        settled = b.solved(residuals[-1])
        return Found(
            result="x", iterations=len(residuals) - 1, settled=settled,
            residuals=tuple(residuals), why="" if settled else why, wasted=space.wasted,
        )  # fmt: skip

    def quiet(machine: Machine, most: int) -> Found:
        """What becomes infinite is seen in the values."""
        with np.errstate(all="ignore"):
            return host(machine, most)

    return Method(setup=setup, host=quiet, limit=b.limit)
