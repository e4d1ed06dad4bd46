"""Dimensions of buffers, taken away with the loops that walked them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...spec.t2s.affine import Affine
from ...spec.t2s.expressions import BufferRead, Value
from ...spec.t2s.program import Function
from ...spec.t2s.statements import Body, BufferWrite, Statement
from .rewriting import revalue, rewrite

__all__ = ["without_dimensions"]


def without_dimensions(function: Function, loops: Iterable[str]) -> Function:
    """A function whose buffers have no index any more for loops of these names."""
    gone = set(loops)
    stay = {
        buffer.name: [n for n, one in enumerate(buffer.dimensions) if one.name not in gone]
        for buffer in function.buffers
    }

    def kept(name: str, indices: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple(indices[n] for n in stay[name])

    def read(value: Value) -> Value | None:
        if isinstance(value, BufferRead):
            return replace(value, indices=kept(value.buffer, value.indices))
        return None

    def write(one: Statement) -> Body | None:
        if isinstance(one, BufferWrite):
            return (replace(one, indices=kept(one.buffer, one.indices)),)
        return None

    buffers = (
        replace(one, dimensions=tuple(one.dimensions[n] for n in stay[one.name]))
        for one in function.buffers
    )
    body = rewrite(revalue(function.body, read), write)
    return replace(function, body=body, buffers=tuple(buffers))
