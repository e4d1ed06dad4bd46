"""Infinitisation: loops that nothing needs to count go round for ever (section 3.4.2).

A function waits for its channels anyway. So its loops, from the outermost on, need no counter if

1. nothing in them needs their variables,
2. all loops around them go round for ever, too,
3. the function neither is the first one on the device nor the last, which read and write memory: it
   would never come to an end,
4. the loop is the only one at its place: of two that follow each other the first would never give
   way to the second.
"""

from __future__ import annotations

from dataclasses import replace

from ....spec.t2s.program import Function, Program
from ....spec.t2s.statements import Body, Counted, Ever, For
from ...language import Computation
from .flattening import uses_memory
from .variables import used_variables

__all__ = ["infinitise"]


def infinitise(program: Program, computation: Computation) -> Program:
    """Take counters from all functions that do without."""
    return replace(program, functions=tuple(_endless(one) for one in program.functions))


def _endless(function: Function) -> Function:
    if uses_memory(function):
        return function
    return replace(function, body=_uncounted(function.body), beside=_uncounted(function.beside))


def _uncounted(body: Body) -> Body:
    """Statements without the loops that go round for ever, which they are in."""
    inner, used = body, used_variables(body)
    while len(inner) == 1:
        (one,) = inner
        if isinstance(one, For) and one.first is None and one.loop.name not in used:
            inner = one.body
        elif isinstance(one, Counted):
            fields = one.fields
            while fields and not fields[0].asked:
                fields = fields[1:]
            if fields == one.fields:
                break
            inner = (replace(one, fields=fields),) if fields else one.body
        else:
            break
    return (Ever(inner),) if inner != body else body
