"""Sums kept beside the arithmetic: a buffer of results before the outermost loop that is summed
over, stored once they are complete (section 3.4.2)."""

from __future__ import annotations

from ...spec.t2s.affine import variable
from ...spec.t2s.expressions import BufferRead
from ...spec.t2s.program import Buffer, Function, Program
from ...spec.t2s.statements import BufferWrite, Store
from ..language import Computation
from .definition import added, applied, start_of
from .rewriting import nest

__all__ = ["SUMS", "accumulate"]

SUMS = "sums"
"""The buffer's name."""


def accumulate(program: Program, computation: Computation) -> Program:
    """Read and write each result in memory once."""
    loops = computation.loops
    first = next((n for n, loop in enumerate(loops) if loop.reduces), len(loops))
    outer, inner = loops[:first], loops[first:]
    kept = tuple(one for one in inner if not one.reduces)
    at = tuple(variable(one.name) for one in kept)
    indices = {name: computation.index_of_loops(name) for name in program.indices}
    update = BufferWrite(SUMS, at, added(computation, BufferRead(SUMS, at), indices))
    result = applied(computation.applied, BufferRead(SUMS, at))
    place = tuple(indices[name] for name in computation.result)
    body = nest(
        outer,
        (
            *nest(kept, (BufferWrite(SUMS, at, start_of(computation, indices)),)),
            *nest(inner, (update,)),
            *nest(kept, (Store(computation.name, place, result),)),
        ),
    )
    return program.with_function(
        computation.name, lambda one: Function(one.name, body, buffers=(Buffer(SUMS, kept),))
    )
