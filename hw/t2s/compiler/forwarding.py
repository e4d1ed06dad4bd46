"""Data forwarding: the elements at an edge receive, and pass on along a loop (section 3.4.1); and
producers likewise, all copies of which keep the same words."""

from __future__ import annotations

from dataclasses import replace

from ...spec.t2s.affine import Affine, variable
from ...spec.t2s.expressions import Name
from ...spec.t2s.loops import Loop
from ...spec.t2s.program import Channel, Program
from ...spec.t2s.statements import Body, Equal, If, Receive, Send, Statement
from ..language import Computation, MappingError
from ..language.isolated import Isolated
from .removal import drop_loops
from .rewriting import all_statements, rewrite

__all__ = ["edges", "forward", "neighbour"]


def edges(loop: Loop, step: int) -> tuple[Affine, Affine]:
    """Returns where data that moves along a loop enters, and where it ends."""
    assert loop.extent is not None
    ends = (Affine((), 0), Affine((), loop.extent - 1))
    return ends if step > 0 else (ends[1], ends[0])


def neighbour(
    at: tuple[Affine, ...], dimensions: tuple[Loop, ...], loop: Loop, step: int
) -> tuple[Affine, ...]:
    """Returns the place of an array of channels one further along a loop."""
    return tuple(
        index + step if one == loop else index for index, one in zip(at, dimensions, strict=True)
    )


def forward(program: Program, computation: Computation) -> Program:
    """Follow every ``forward``: what sends loses the loop, and what passes on gets a channel along
    it."""
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
            entry = program.channel(computation.chain(tensor)[0].name)
            program = _forward(program, entry, tensor, computation.loop(name), step)
    for factor in computation.operands:
        chain = computation.chain(factor.tensor.name)
        for number, isolated in enumerate(chain):
            for name, step, place in isolated.forwarded:
                _check_producer(program, isolated, chain[number + 1 :], name, place)
                program = drop_loops(program, chain, number + 1, [name])
                entry = program.channel(chain[number + 1].name)
                loop = computation.loop(name)
                program = _forward(program, entry, isolated.name, loop, step)
    return program


def _check_producer(
    program: Program, isolated: Isolated, behind: tuple[Isolated, ...], name: str, place: str
) -> None:
    directive = f"{place}: {isolated.name}.forward"
    if not any(
        isinstance(one, Receive) for one in all_statements(program.function(isolated.name).body)
    ):
        raise MappingError(f"{directive}: nothing is sent to it")
    if name in [one for one, _ in behind[0].unrolled]:
        raise MappingError(f"{directive}: loop `{name}` is unrolled in {behind[0].name}, too")


def _forward(program: Program, entry: Channel, passes: str, loop: Loop, step: int) -> Program:
    """Words of a channel come to the first copy of its sink along a loop, and are passed on.

    Parameters
    ----------
    passes: what the channel along the loop is called after
    """
    name = entry.sink
    along = Channel(f"{passes}_{loop.name}_forward", name, name, entry.dimensions)
    at = tuple(variable(one.name) for one in entry.dimensions)
    outside = tuple(variable(one.name) for one in entry.dimensions if one != loop)
    first, last = edges(loop, step)

    def in_sink(one: Statement) -> Body | None:
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

    def in_source(one: Statement) -> Body | None:
        if isinstance(one, Send) and one.channel == entry.name:
            return (replace(one, at=outside),)
        return None

    program = program.with_function(
        name, lambda one: replace(one, body=rewrite(one.body, in_sink))
    ).with_function(entry.source, lambda one: replace(one, body=rewrite(one.body, in_source)))
    dimensions = tuple(one for one in entry.dimensions if one != loop)
    program = program.with_channel(entry.name, lambda one: replace(one, dimensions=dimensions))
    return replace(program, channels=(*program.channels, along))
