"""Loop unrolling: an instance of a function an iteration, and a queue of a channel an iteration of
the loops that either side has unrolled (section 3.4.1)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...spec.t2s.affine import variable
from ...spec.t2s.loops import Loop
from ...spec.t2s.program import Channel, Function, Program
from ...spec.t2s.statements import Body, Receive, Send, Statement
from ..language import Computation, MappingError
from .buffers import without_dimensions
from .rewriting import loops_in, rewrite

__all__ = ["unroll"]


def unroll(program: Program, computation: Computation) -> Program:
    """Make instances, and arrays of channels."""
    unrolled = {computation.name: [name for name, _ in computation.unrolled]}
    for chain in computation.chains.values():
        for isolated in chain:
            unrolled[isolated.name] = [name for name, _ in isolated.unrolled]
            _check_loops(program, isolated.name, isolated.unrolled)
    for function, names in unrolled.items():
        instances = tuple(one for one in computation.loops if one.name in names)
        program = program.with_function(function, partial(_with_instances, instances))
    program = program.with_function(
        computation.name,
        lambda one: without_dimensions(one, [loop.name for loop in one.instances]),
    )
    for channel in program.channels:
        program = _unroll_channel(program, computation, channel)
    return program


def _with_instances(instances: tuple[Loop, ...], function: Function) -> Function:
    return replace(function, instances=instances)


def _check_loops(program: Program, name: str, unrolled: list[tuple[str, str]]) -> None:
    there = [one.name for one in loops_in(program.function(name).body)]
    for loop, place in unrolled:
        if loop not in there:
            raise MappingError(f"{place}: {name}.unroll: it has no loop `{loop}`")


def _unroll_channel(program: Program, computation: Computation, channel: Channel) -> Program:
    ends = (program.function(channel.source), program.function(channel.sink))
    names = {one.name for end in ends for one in end.instances}
    dimensions = tuple(one for one in computation.loops if one.name in names)
    at = tuple(variable(one.name) for one in dimensions)

    def change(one: Statement) -> Body | None:
        if isinstance(one, Send | Receive) and one.channel == channel.name:
            return (replace(one, at=at),)
        return None

    for end in ends:
        program = program.with_function(
            end.name, lambda one: replace(one, body=rewrite(one.body, change))
        )
    return program.with_channel(channel.name, lambda one: replace(one, dimensions=dimensions))
