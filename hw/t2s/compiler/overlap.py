"""Overlap of draining and computing: an element starts a sum in the first iteration of all loops
that are summed over and sends it in the last, so that one perfect nest is left (section 3.4.2).

Without overlap sums are sent by a nest of their own behind the one that computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ...spec.t2s.loops import Affine, Loop, last_iteration, variable
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import (
    Apply,
    Body,
    BufferRead,
    BufferWrite,
    Equal,
    For,
    If,
    Send,
    Statement,
    Value,
)
from ..language import Computation
from .rewriting import all_statements, loops_in, rewrite

__all__ = ["overlap"]


def overlap(program: Program, computation: Computation) -> Program:
    """Merge the three nests of an element into the one that sums; without overlap, the two that
    start sums and that add to them."""
    sends, _ = computation.overlap
    return program.with_function(computation.name, lambda one: _merged(one, sends=sends))


def _merged(function: Function, *, sends: bool) -> Function:
    statements = list(all_statements(function.body))
    starts = _starts(function.body)
    complete = [one for one in statements if sends and isinstance(one, Send) and _is_sum(one)]
    body = _without_empty(rewrite(function.body, _removing([*starts, *complete])))
    summed = [one for one in loops_in(body) if one.reduces]
    first = _under(summed, lambda loop: Affine(), starts)
    last = _under(summed, last_iteration, tuple(complete))

    def merge(one: Statement) -> Body | None:
        return (*first, one, *last) if isinstance(one, BufferWrite) else None

    return replace(function, body=rewrite(body, merge))


def _starts(body: Body) -> Body:
    """The write that starts a sum, with what stands before it: the first of all writes."""
    for place, one in enumerate(body):
        if isinstance(one, BufferWrite):
            return body[: place + 1]
        if isinstance(one, For) and (found := _starts(one.body)):
            return found
    return ()


def _is_sum(send: Send) -> bool:
    value: Value = send.value
    while isinstance(value, Apply) and len(value.arguments) == 1:
        value = value.arguments[0]
    return isinstance(value, BufferRead)


def _removing(gone: list[Statement]) -> Callable[[Statement], Body | None]:
    return lambda one: () if one in gone else None


def _without_empty(body: Body) -> Body:
    """Statements without loops in which nothing is done."""
    found: list[Statement] = []
    for one in body:
        if isinstance(one, For):
            inner = _without_empty(one.body)
            found += [replace(one, body=inner)] if inner else []
        else:
            found.append(one)
    return tuple(found)


def _under(loops: Iterable[Loop], bound: Callable[[Loop], Affine], body: Body) -> Body:
    """Statements in one iteration of loops."""
    for loop in loops if body else ():
        body = (If(Equal(variable(loop.name), bound(loop)), body),)
    return body
