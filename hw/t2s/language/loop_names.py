"""Directives' loops, checked against those that there are, and their numbers."""

from __future__ import annotations

from collections.abc import Iterable

from .indices import Index
from .places import MappingError

__all__ = ["constant_factor", "constant_of", "known_loop", "known_loops", "queue_depth"]

MOST_WORDS = 1 << 16
"""Most words of a queue."""


def known_loop(place: str, directive: str, given: object, known: Iterable[str]) -> str:
    """Returns the name of a loop. Raises MappingError if no such loop exists."""
    names = list(known)
    name = given.name if isinstance(given, Index) else given
    if not isinstance(name, str) or name not in names:
        raise MappingError(
            f"{place}: {directive}: loop must be one of {', '.join(names)}, not {name!r}"
        )
    return name


def known_loops(
    place: str, directive: str, given: Iterable[object], known: Iterable[str]
) -> tuple[str, ...]:
    """Names of loops, none twice. Raises MappingError if there is one that is not known."""
    names = list(known)
    found = tuple(known_loop(place, directive, one, names) for one in given)
    for name in found:
        if found.count(name) > 1:
            raise MappingError(f"{place}: {directive}: loop `{name}` must be named once, not twice")
    return found


def constant_factor(place: str, directive: str, loop: str, given: object) -> int:
    """Returns a trip count. Raises MappingError unless it is an integer from 1."""
    return constant_of(place, directive, f"factor of `{loop}`", given)


def constant_of(place: str, directive: str, what: str, given: object) -> int:
    """Returns a directive's number. Raises MappingError unless it is an integer from 1."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        shown = given.name if isinstance(given, Index) else given
        raise MappingError(
            f"{place}: {directive}: {what} must be a constant, 1 or more, not {shown!r}"
        )
    return given


def queue_depth(place: str, directive: str, given: object) -> int:
    """Returns the depth of a queue. Raises MappingError unless it is a valid depth."""
    depth = constant_of(place, directive, "depth", given)
    if depth > MOST_WORDS:
        raise MappingError(
            f"{place}: {directive}: depth must be at most {MOST_WORDS:,}, not {depth:,}"
        )
    return depth
