"""Sizes of a mapping, which whoever loads its file may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from .places import MappingError, place_of_caller

__all__ = ["changed_sizes", "cut_factor", "sizes"]

_CHANGED: ContextVar[dict[str, int] | None] = ContextVar("changed sizes", default=None)
_LARGEST: ContextVar[int | None] = ContextVar("largest factor", default=None)


def sizes(**usual: int) -> tuple[int, ...]:
    """Defines trip counts, as in ``II, JJ = sizes(II=10, JJ=8)``; ``--set II=2`` changes one.

    Picture::

        II, JJ = sizes(II=10, JJ=8)      --set II=2      an array of 10 x 8 becomes one of 2 x 8

    Legal are integers from 1.

    Refused::

        sizes(II=0)
        -> sizes: II must be an integer, 1 or more, not 0
    """
    place = place_of_caller()
    changed = _CHANGED.get()
    for name, size in usual.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise MappingError(
                f"{place}: sizes: {name} must be an integer, 1 or more, not {size!r}"
            )
    if changed is None:
        return tuple(usual.values())
    return tuple(changed.pop(name, size) for name, size in usual.items())


@contextmanager
def changed_sizes(given: Mapping[str, int], largest: int | None = None) -> Iterator[None]:
    """Files that are loaded inside take these sizes, and no factor larger than ``largest``.

    Raises MappingError if a size was not taken.
    """
    left = dict(given)
    token, bound = _CHANGED.set(left), _LARGEST.set(largest)
    try:
        yield
    finally:
        _CHANGED.reset(token)
        _LARGEST.reset(bound)
    for name in left:
        raise MappingError(f"the file has no size {name!r}")


def cut_factor(factor: int) -> int:
    """A factor of a tile, or the largest that is wanted."""
    largest = _LARGEST.get()
    return factor if largest is None else min(factor, largest)
