"""Loops of an image, as the host lays it out, chosen anew."""

from __future__ import annotations

from dataclasses import replace

from ...spec.t2s.expressions import Load, Value
from ...spec.t2s.program import Program
from ...spec.t2s.statements import Body, Statement, Store
from .rewriting import revalue, rewrite

__all__ = ["with_image"]


def with_image(program: Program, name: str, places: list[int]) -> Program:
    """The program whose image has only its loops at these places, in this order."""

    def read(value: Value) -> Value | None:
        if isinstance(value, Load) and value.tensor == name:
            return replace(value, indices=tuple(value.indices[n] for n in places))
        return None

    def write(one: Statement) -> Body | None:
        if isinstance(one, Store) and one.tensor == name:
            return (replace(one, indices=tuple(one.indices[n] for n in places)),)
        return None

    return replace(
        program,
        functions=tuple(
            replace(one, body=rewrite(revalue(one.body, read), write)) for one in program.functions
        ),
        tensors=tuple(
            replace(one, image=tuple(one.image[n] for n in places)) if one.name == name else one
            for one in program.tensors
        ),
    )
