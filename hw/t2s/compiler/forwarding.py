"""Data forwarding: the elements at an edge receive, and pass on along a loop (section 3.4.1)."""

from __future__ import annotations

from dataclasses import replace

from ...spec.t2s.affine import Affine, variable
from ...spec.t2s.expressions import Name
from ...spec.t2s.loops import Loop
from ...spec.t2s.program import Channel, Program
from ...spec.t2s.statements import Body, Equal, If, Receive, Send, Statement
from ..language import Computation, MappingError
from .removal import drop_loops
from .rewriting import rewrite

__all__ = ["edges", "forward", "neighbour"]


def edges(loop: Loop, step: int) -> tuple[Affine, Affine]:
    """Where data comes in that moves along a loop, and where it ends."""
    assert loop.extent is not None
    ends = (Affine((), 0), Affine((), loop.extent - 1))
    return ends if step > 0 else (ends[1], ends[0])


def neighbour(
    at: tuple[Affine, ...], dimensions: tuple[Loop, ...], loop: Loop, step: int
) -> tuple[Affine, ...]:
    """The place of an array of channels one further along a loop."""
    return tuple(
        index + step if one == loop else index for index, one in zip(at, dimensions, strict=True)
    )


def forward(program: Program, computation: Computation) -> Program:
    """Follow every ``forward``: producers lose the loop, and elements get a channel along it."""
    for tensor, directions in computation.forwarded.items():
        for name, step, place in directions:
            for isolated in computation.chain(tensor):
                if isolated.scattered and isolated.scattered[0] == name:
                    raise MappingError(
                        f"{isolated.scattered[2]}: {isolated.name}.scatter: the elements forward "
                        f"{tensor} along loop `{name}`: it comes in once"
                    )
                if name in [one for one, _ in isolated.unrolled]:
                    raise MappingError(
                        f"{place}: {computation.name}.forward: loop `{name}` is unrolled in "
                        f"{isolated.name}, which is needed once along it"
                    )
            program = drop_loops(program, computation.chain(tensor), 0, [name])
            program = _forward(program, computation, tensor, computation.loop(name), step)
    return program


def _forward(
    program: Program, computation: Computation, tensor: str, loop: Loop, step: int
) -> Program:
    entry = program.channel(computation.chain(tensor)[0].name)
    name = computation.name
    along = Channel(f"{tensor}_{loop.name}_forward", name, name, entry.dimensions)
    at = tuple(variable(one.name) for one in entry.dimensions)
    outside = tuple(variable(one.name) for one in entry.dimensions if one != loop)
    first, last = edges(loop, step)

    def in_element(one: Statement) -> Body | None:
        if not (isinstance(one, Receive) and one.channel == entry.name):
            return None
        received = If(
            Equal(variable(loop.name), first),
            (replace(one, at=outside),),
            (Receive(one.name, along.name, at),),
        )
        onward = neighbour(at, along.dimensions, loop, step)
        passed = If(
            Equal(variable(loop.name), last), (), (Send(along.name, onward, Name(one.name)),)
        )
        return (received, passed)

    def in_producer(one: Statement) -> Body | None:
        if isinstance(one, Send) and one.channel == entry.name:
            return (replace(one, at=outside),)
        return None

    program = program.with_function(
        computation.name, lambda one: replace(one, body=rewrite(one.body, in_element))
    ).with_function(entry.source, lambda one: replace(one, body=rewrite(one.body, in_producer)))
    dimensions = tuple(one for one in entry.dimensions if one != loop)
    program = program.with_channel(entry.name, lambda one: replace(one, dimensions=dimensions))
    return replace(program, channels=(*program.channels, along))
