"""What bounds make of loops and tensors."""

from __future__ import annotations

from collections.abc import Mapping

from ...hw.spec.t2s.affine import Affine
from ...hw.spec.t2s.loops import Loop
from ...hw.spec.t2s.program import Program

__all__ = ["check_bounds", "shape_of", "trip_count"]


def check_bounds(program: Program, bounds: Mapping[str, int]) -> None:
    """Refuse bounds that are not of the program's indices, or not integers from 1.

    Raises ValueError.
    """
    for name in program.indices:
        if name not in bounds:
            raise ValueError(f"bounds must have {', '.join(program.indices)}; {name} is missing")
    for name, bound in bounds.items():
        if name not in program.indices:
            raise ValueError(f"bounds must be of {', '.join(program.indices)}, not of {name!r}")
        if bound < 1:
            raise ValueError(f"bound of {name} must be 1 or more, not {bound}")


def trip_count(loop: Loop, bounds: Mapping[str, int]) -> int:
    """Iterations of a loop: its extent, or as many as cover the index's bound."""
    return -(-bounds[loop.index] // loop.step) if loop.extent is None else loop.extent


def shape_of(dimensions: tuple[Affine, ...], bounds: Mapping[str, int]) -> tuple[int, ...]:
    """Of a tensor with these indices, the least that holds all of them."""
    return tuple(
        one.constant + sum(by * (bounds[name] - 1) for name, by in one.terms) + 1
        for one in dimensions
    )
