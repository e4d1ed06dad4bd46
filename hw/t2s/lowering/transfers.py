"""Models a copy of a function by the words that it takes and puts: counted, without values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...spec.t2s.loops import Affine
from ...spec.t2s.parts import Count
from ...spec.t2s.program import Function
from ...spec.t2s.statements import Body, BufferWrite, Equal, For, If, Receive, Send, Store

Doing = Receive | Send | Store | BufferWrite


@dataclass(frozen=True)
class Done:
    """A transfer, or a write.

    Parameters
    ----------
    what: the statement
    loops: around it, outermost first, without those that are instances
    when: conditions around it that instances decide, each with whether it has to hold
    own: whether it is done in the function's own turn only, or in others' only; None: in all
    """

    what: Doing
    loops: tuple[For, ...]
    when: tuple[tuple[Equal, bool], ...]
    own: bool | None


def done_by(function: Function) -> tuple[Done, ...]:
    """Lists all transfers and writes of a function."""
    return tuple(_within(function.body, {one.name for one in function.instances}, (), (), None))


def _within(
    body: Body,
    instances: set[str],
    loops: tuple[For, ...],
    when: tuple[tuple[Equal, bool], ...],
    own: bool | None,
) -> Iterator[Done]:
    for one in body:
        if isinstance(one, For):
            inside = loops if one.loop.name in instances else (*loops, one)
            yield from _within(one.body, instances, inside, when, own)
        elif isinstance(one, If):
            condition = one.condition
            turns = set(_variables(condition)) - instances
            if not turns:
                yield from _within(one.then, instances, loops, (*when, (condition, True)), own)
                rest = (*when, (condition, False))
                yield from _within(one.otherwise, instances, loops, rest, own)
            elif any(loop.first is not None and loop.loop.name in turns for loop in loops):
                yield from _within(one.then, instances, loops, when, True)
                yield from _within(one.otherwise, instances, loops, when, False)
            else:
                # The first or the last iteration of sums: flags say which.
                yield from _within(one.then, instances, loops, when, own)
        elif isinstance(one, Doing):
            yield Done(one, loops, when, own)


def _variables(condition: Equal) -> tuple[str, ...]:
    return (*condition.left.variables, *condition.right.variables)


def count_of(loop: For) -> Count:
    """Returns the loop as hardware counts it."""
    if loop.first is None:
        return Count(loop.loop.name, loop.loop.extent)
    # A turn goes from the copy's own to an end, or from an end to the copy's own.
    return Count(loop.loop.name, None, turn=True, own_last=not _is_own(loop.first))


def _is_own(bound: Affine) -> bool:
    """Tells whether a turn's bound is the copy's own place."""
    return bool(bound.terms)


Segment = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Number of words; queues that each is taken from, and queues that it is put into at once."""

Visit = tuple[int, int]
"""Number of words, and the queue that they are put into or taken from."""


class Unaligned(ValueError):
    """Raised when work does not end together with a period, or with other work."""


@dataclass(frozen=True)
class Work:
    """Segments of a copy, one after the other, so many times.

    Parameters
    ----------
    name: of the copy
    """

    name: str
    times: int
    segments: tuple[Segment, ...]

    @property
    def queues(self) -> tuple[int, ...]:
        """Returns the queues that the work uses."""
        return tuple(dict.fromkeys(n for _, takes, puts in self.segments for n in (*takes, *puts)))

    def words(self, queue: int) -> int:
        """Returns how many words the work puts into a queue, less those that it takes."""
        counts = ((queue in puts) - (queue in takes) for _, takes, puts in self.segments)
        each = (one[0] * count for one, count in zip(self.segments, counts, strict=True))
        return self.times * sum(each)


def through(work: Work, stem: int, visits: Sequence[Visit]) -> Work:
    """Returns the work with a queue replaced by several, which are visited in turn.

    The visits start anew when all have been visited. Raises Unaligned if the work ends in the
    middle of them.
    """
    each = abs(work.words(stem)) // max(1, work.times)
    around = sum(words for words, _ in visits)
    if not each:
        return work
    if work.times * each % around:
        raise Unaligned(f"{work.name} ends before it has visited all")
    times, segments = work.times, work.segments
    if len(segments) == 1:
        # No more often than needed in full.
        times, segments = times * each // around, ((around, *segments[0][1:]),)
    elif each % around:
        times, segments = 1, times * segments
    found: list[Segment] = []
    place, left = 0, visits[0][0]
    for words, takes, puts in segments:
        if stem not in (*takes, *puts):
            found.append((words, takes, puts))
            continue
        while words:
            if not left:
                place = (place + 1) % len(visits)
                left = visits[place][0]
            now = min(words, left)
            queue = visits[place][1]
            found.append((now, _swapped(takes, stem, queue), _swapped(puts, stem, queue)))
            words, left = words - now, left - now
    return Work(work.name, times, tuple(found))


def _swapped(queues: tuple[int, ...], old: int, new: int) -> tuple[int, ...]:
    return tuple(new if one == old else one for one in queues)
