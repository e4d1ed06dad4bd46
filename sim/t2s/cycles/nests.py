"""How many words pass in nests of loops, and where they go, for given trip counts of registers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from ....hw.spec.t2s.design import Design
from ....hw.spec.t2s.network import Copy
from ....hw.spec.t2s.parts import Count, RoutePart

__all__ = ["operations_of_sums", "turns_of", "visits_of", "words_of"]

Trips = Mapping[str, int]


def words_of(nest: Iterable[Count], trips: Trips) -> int:
    """Iterations of a nest without a turn."""
    return prod(trips[one.name] if one.extent is None else one.extent for one in nest)


def turns_of(nest: tuple[Count, ...], copy: Copy, trips: Trips) -> Iterator[tuple[int, bool, bool]]:
    """Words of a nest, by its turn: whether they are the copy's own, and the last of those."""
    place = next((n for n, one in enumerate(nest) if one.turn), None)
    if place is None:
        yield words_of(nest, trips), True, True
        return
    inside, rounds = words_of(nest[place + 1 :], trips), words_of(nest[:place], trips)
    for number in range(rounds):
        own = (inside, True, number == rounds - 1)
        others = (copy.ahead * inside, False, False)
        yield from (others, own) if nest[place].own_last else (own, others)


def visits_of(part: RoutePart, trips: Trips) -> Iterator[tuple[int, int]]:
    """Words that a route brings, one after the other, to or from a queue, and its number."""
    inner = max(n for n, one in enumerate(part.nest) if one.name in part.routed)
    walked = part.nest[: inner + 1]
    words = words_of(part.nest[inner + 1 :], trips)
    for number in range(words_of(walked, trips)):
        at: dict[str, int] = {}
        for one in reversed(walked):
            number, at[one.name] = divmod(number, words_of([one], trips))
        branch = 0
        for name, extent in zip(part.routed, part.extents, strict=True):
            branch = branch * extent + at[name]
        yield words, branch


def operations_of_sums(design: Design, trips: Trips) -> int:
    """Operations in which an element completes all its sums once."""
    nests = [(one.nest, one.flags) for one in design.movers if one.flagged]
    nests += [((*one.around, *one.read), one.flags) for one in design.feeders if one.flagged]
    nest, flags = nests[0]
    return words_of((one for one in nest if one.name in flags), trips) * design.element.sums
