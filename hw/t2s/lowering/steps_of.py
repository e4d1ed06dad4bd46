"""Lists what a function does, step by step: each transfer with its loops and its conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...spec.t2s.affine import Affine
from ...spec.t2s.parts import Count
from ...spec.t2s.program import Function
from ...spec.t2s.statements import Body, BufferWrite, Equal, For, If, Receive, Send, Store

__all__ = ["Done", "count_of", "done_by"]

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
