"""How what has no hardware is told."""

from __future__ import annotations

from ...language import Computation, MappingError

__all__ = ["refused"]


def refused(computation: Computation, why: str, place: str = "") -> MappingError:
    """Of a computation that hardware cannot be, for a reason; the place of a directive, if one is
    at fault."""
    return MappingError(
        f"{place or computation.place}: {computation.name} has no hardware yet: {why}"
    )
