"""Operators of an element: how many work at once."""

from __future__ import annotations

from ...spec.t2s.program import Program
from ...spec.t2s.statements import Apply, BufferWrite, Fold, Name, Together, Value
from ..language import Computation
from .rewriting import all_statements

__all__ = ["multiplications"]


def multiplications(program: Program, computation: Computation) -> int:
    """Counts the operations (x) of an element in an iteration."""
    loop = computation.vectorised[0] if computation.vectorised else None
    wide = {
        one.tensor.name
        for one in computation.factors
        if loop in computation.loops_of(one.tensor.name)
    }
    lanes = computation.loop(loop).extent or 1 if loop else 1
    body = program.function(computation.name).body
    return sum(
        _counted(one.value, wide, lanes)[0]
        for one in all_statements(body)
        if isinstance(one, BufferWrite)
    )


def _counted(value: Value, wide: set[str], lanes: int) -> tuple[int, bool]:
    """Counts the operations (x) in a value; returns whether it is a vector, too."""
    if isinstance(value, Name):
        return 0, value.name in wide
    if isinstance(value, Fold):
        return _counted(value.start, wide, lanes)[0] + _counted(value.vector, wide, lanes)[0], False
    if isinstance(value, Together):
        return sum(_counted(one, wide, lanes)[0] for one in value.terms), False
    if isinstance(value, Apply):
        parts = [_counted(one, wide, lanes) for one in value.arguments]
        vector = any(one for _, one in parts)
        own = (lanes if vector else 1) if value.operator == "times" else 0
        return own + sum(count for count, _ in parts), vector
    return 0, False
