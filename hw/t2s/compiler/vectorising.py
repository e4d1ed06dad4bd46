"""Vectorisation: all iterations of the innermost loop at once, in loads, channels, buffers and
arithmetic (section 3.4.1)."""

from __future__ import annotations

from dataclasses import replace

from ...spec.t2s.expressions import Apply, Fold, Load, Value
from ...spec.t2s.loops import Loop
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import Body, Statement, Store
from ..language import Computation, MappingError
from .buffers import without_dimensions
from .removal import drop_loops
from .rewriting import revalue, rewrite, without_loops

__all__ = ["vectorise"]


def vectorise(program: Program, computation: Computation) -> Program:
    """Words that the loop walks become lanes; what does not depend on it is sent once."""
    if not computation.vectorised:
        return program
    loop = computation.loop(computation.vectorised[0])
    _check_copies(program, computation, loop)
    for tensor in (*(one.tensor.name for one in computation.operands), computation.name):
        chain = computation.chain(tensor)
        if loop.name not in computation.loops_of(tensor):
            if tensor != computation.name:
                program = drop_loops(program, chain, 0, [loop.name])
            continue
        for isolated in chain:
            if not isolated.on_host:
                program = program.with_function(isolated.name, lambda one: _widen(one, loop))
    return program.with_function(computation.name, lambda one: _arithmetic(one, loop))


def _check_copies(program: Program, computation: Computation, loop: Loop) -> None:
    """Refuse copies of a function an iteration of the loop, which it does not have any more."""
    said = {computation.name: computation.unrolled}
    for chain in computation.chains.values():
        said |= {one.name: one.unrolled for one in chain}
    for function, unrolled in said.items():
        for name, place in unrolled:
            if name == loop.name:
                raise MappingError(f"{place}: {function}.unroll: loop `{name}` is vectorised")


def _widen(function: Function, loop: Loop) -> Function:
    """A function that moves data, in vectors."""
    body = without_loops(function.body, [loop.name])
    return without_dimensions(replace(function, body=_with_lanes(body, loop)), [loop.name])


def _with_lanes(body: Body, loop: Loop) -> Body:
    def load(value: Value) -> Value | None:
        return replace(value, lanes=loop) if isinstance(value, Load) else None

    def store(one: Statement) -> Body | None:
        return (replace(one, lanes=loop),) if isinstance(one, Store) else None

    return rewrite(revalue(body, load), store)


def _arithmetic(function: Function, loop: Loop) -> Function:
    """The elements: sums over lanes, if results are summed over the loop; else sums of vectors."""
    body = without_loops(function.body, [loop.name])
    if not loop.reduces:
        return without_dimensions(replace(function, body=body), [loop.name])

    def fold(value: Value) -> Value | None:
        if isinstance(value, Apply) and value.operator == "plus":
            total, term = value.arguments
            return Fold(fold(total) or total, term)
        return None

    return replace(function, body=revalue(body, fold))
