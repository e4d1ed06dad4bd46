"""Flattening: a nest of loops becomes one counter with a field of bits for each (section 3.4.2).

Loops whose variables nothing needs have a field together with their neighbours. What has its trip
count from a register, or counts turns, stays a loop: a counter of its own. So do loops of functions
that read or write memory: these move pointers, by a stride each.
"""

from __future__ import annotations

from dataclasses import replace

from ....spec.t2s.affine import Affine
from ....spec.t2s.expressions import Load, Value
from ....spec.t2s.fields import grouped
from ....spec.t2s.loops import Loop
from ....spec.t2s.program import Function, Program
from ....spec.t2s.statements import Body, Counted, Field, For, Store
from ...language import Computation
from ..rewriting import all_statements, inside, revalue
from .variables import used_variables, with_variables

__all__ = ["flatten", "uses_memory"]


def flatten(program: Program, computation: Computation) -> Program:
    """Flatten the loops of all functions that only move words, and of elements."""
    return replace(
        program,
        functions=tuple(
            one if uses_memory(one)
            else replace(one, body=_flat(one.body), beside=_flat(one.beside))
            for one in program.functions
        ),
    )  # fmt: skip


def uses_memory(function: Function) -> bool:
    """Tells whether a function reads or writes tensors.

    Those are the first and the last functions on the device, and all functions of the host.
    """
    loads: list[Value] = []

    def note(value: Value) -> Value | None:
        if isinstance(value, Load):
            loads.append(value)
        return None

    revalue(function.body, note)
    return bool(loads) or any(isinstance(one, Store) for one in all_statements(function.body))


def _flat(body: Body) -> Body:
    if len(body) != 1:
        return tuple(part for one in body for part in _flat((one,)))
    loops: list[Loop] = []
    inner: Body = body
    while len(inner) == 1 and isinstance(inner[0], For) and _constant(inner[0]):
        loops.append(inner[0].loop)
        inner = inner[0].body
    if not loops:
        return (inside(body[0], _flat),)
    return _counted(loops, _flat(inner))


def _constant(one: For) -> bool:
    return one.first is None and one.loop.extent is not None


def _counted(loops: list[Loop], body: Body) -> Body:
    """Replaces loops around statements by one counter."""
    body = with_variables(body, {one.name: Affine() for one in loops if one.extent == 1})
    used = used_variables(body)
    groups = grouped([(one.extent, one.name in used) for one in loops])
    fields = tuple(
        Field(tuple(loops[n] for n in group), any(loops[n].name in used for n in group))
        for group in groups
    )
    return (Counted(fields, body),) if fields else body
