"""Sums in a rotating buffer: read and written at its first element, then moved on, without an
address (section 3.4.2)."""

from __future__ import annotations

from dataclasses import replace

from ....spec.t2s.loops import Loop
from ....spec.t2s.program import Function, Program
from ....spec.t2s.statements import (
    Body,
    BufferRead,
    BufferWrite,
    For,
    Receive,
    Rotate,
    Statement,
    Until,
    Value,
)
from ...language import Computation
from ..removal import without_dimensions
from ..rewriting import all_statements, revalue

__all__ = ["rotate", "summed_inside"]


def rotate(program: Program, computation: Computation) -> Program:
    """Makes the buffer of sums rotate: all sums are visited in turn before any is visited again."""
    function = program.function(computation.name)
    if summed_inside(function):
        return program
    (sums,) = function.buffers
    loops = [one.name for one in sums.dimensions]
    turned = _turning(function.body, sums.name) if sums.words > 1 else function.body
    plain = without_dimensions(replace(function, body=turned), loops)
    buffers = (replace(sums, rotating=sums.words > 1),)
    return program.with_function(function.name, lambda _: replace(plain, buffers=buffers))


def summed_inside(function: Function) -> tuple[Loop, Loop] | None:
    """Returns a reduction loop inside a loop of sums, and that loop; None if none is."""
    kept = {one.name for buffer in function.buffers for one in buffer.dimensions}
    found: Loop | None = None
    for one in _loops_of_products(function):
        if one.extent == 1:
            continue
        if one.name in kept:
            found = found or one
        elif found:
            return one, found
    return None


def _loops_of_products(function: Function) -> list[Loop]:
    """Loops around what an element receives, outermost first."""
    instances = {one.name for one in function.instances}

    def around(body: Body) -> list[Loop] | None:
        for one in body:
            if isinstance(one, For | Until):
                inner = around(one.body)
                if inner is None:
                    continue
                if isinstance(one, For) and one.loop.name not in instances:
                    return [one.loop, *inner]
                return inner
            elif any(isinstance(part, Receive) for part in all_statements((one,))):
                return []
        return None

    return around(function.body) or []


def _turning(body: Body, buffer: str) -> Body:
    """Statements that move a buffer on, after each iteration that uses it."""
    found: list[Statement] = []
    for one in body:
        if isinstance(one, For | Until):
            found.append(replace(one, body=_turning(one.body, buffer)))
        else:
            found.append(one)
    if not any(isinstance(one, For | Until) for one in body) and _uses(body, buffer):
        found.append(Rotate(buffer))
    return tuple(found)


def _uses(body: Body, buffer: str) -> bool:
    read: list[Value] = []

    def note(value: Value) -> Value | None:
        if isinstance(value, BufferRead) and value.buffer == buffer:
            read.append(value)
        return None

    revalue(body, note)
    writes = any(
        isinstance(one, BufferWrite) and one.buffer == buffer for one in all_statements(body)
    )
    return writes or bool(read)
