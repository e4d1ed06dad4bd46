"""Errors for computations that have no hardware yet."""

from __future__ import annotations

from ...language import Computation, MappingError

__all__ = ["refused"]


def refused(computation: Computation, why: str, place: str = "") -> MappingError:
    """Returns the error for a computation that has no hardware, and why.

    ``place``: of the directive at fault, if one is.
    """
    return MappingError(
        f"{place or computation.place}: {computation.name} has no hardware yet: {why}"
    )
