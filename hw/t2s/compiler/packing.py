"""Gathering in vectors: copies of a function in a row, each of which adds a word to what it takes
from the one behind; the unloader stores the words of all copies at once (section 3.4.1)."""

from __future__ import annotations

from dataclasses import replace

from ...spec.t2s.affine import variable
from ...spec.t2s.expressions import Name, Pack
from ...spec.t2s.loops import Loop
from ...spec.t2s.program import Channel, Function, Program
from ...spec.t2s.statements import Body, Equal, If, Receive, Send, Statement, Store
from ..language import Computation, MappingError
from ..language.isolated import Isolated
from .forwarding import edges, neighbour
from .rewriting import all_statements, rewrite, without_loops

__all__ = ["pack_words"]


def pack_words(
    program: Program,
    computation: Computation,
    isolated: Isolated,
    loop: Loop,
    along: Channel,
    receive: Receive,
) -> Program:
    """Follow a ``gather`` with vectors, but for the channel that loses the loop.

    Parameters
    ----------
    loop: along which it gathers
    along: the channel from copy to copy
    receive: what a copy has of its own
    """
    assert isolated.gathered
    _, step, place = isolated.gathered
    function = program.function(isolated.name)
    (sent,) = (one for one in all_statements(function.body) if isinstance(one, Send))
    sink = program.function(program.channel(sent.channel).sink)
    directive = f"{place}: {isolated.name}.gather"
    if not any(isinstance(one, Store) for one in all_statements(sink.body)):
        raise MappingError(f"{directive}: vectors are for an unloader, not for {sink.name}")
    if computation.vectorised and not computation.loop(computation.vectorised[0]).reduces:
        lanes = computation.vectorised[0]
        raise MappingError(f"{directive}: sums are vectors already, of loop `{lanes}`")
    at = tuple(variable(one.name) for one in along.dimensions)
    outside = tuple(variable(one.name) for one in along.dimensions if one != loop)
    own, (first, last) = variable(loop.name), edges(loop, step)
    mine, others = Name(receive.name), Name(f"{receive.name}_behind")

    def send(value: Pack) -> Body:
        onward = neighbour(at, along.dimensions, loop, step)
        return (
            If(
                Equal(own, last),
                (Send(sent.channel, outside, value),),
                (Send(along.name, onward, value),),
            ),
        )

    def change(one: Statement) -> Body | None:
        if one == sent:
            return ()
        if one != receive:
            return None
        both = (others, mine) if step > 0 else (mine, others)
        behind = (Receive(others.name, along.name, at), *send(Pack(both)))
        return (receive, If(Equal(own, first), send(Pack((mine,))), behind))

    def store(one: Statement) -> Body | None:
        return (replace(one, lanes=loop),) if isinstance(one, Store) else None

    def unload(given: Function) -> Function:
        return replace(given, body=rewrite(without_loops(given.body, [loop.name]), store))

    return program.with_function(
        isolated.name, lambda one: replace(one, body=rewrite(one.body, change))
    ).with_function(sink.name, unload)
