"""Data scattering and gathering: copies of a function in a row, each of which keeps or adds its own
and passes on the rest, by a counting loop (section 3.4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...spec.t2s.affine import Affine, variable
from ...spec.t2s.expressions import Name
from ...spec.t2s.loops import Loop
from ...spec.t2s.program import Channel, Function, Program
from ...spec.t2s.statements import Body, Equal, For, If, Receive, Send, Statement
from ..language import Computation, MappingError
from ..language.isolated import Isolated
from .forwarding import edges, neighbour
from .levels import count_at
from .packing import pack_words
from .rewriting import all_statements, rewrite

__all__ = ["counting", "gather", "scatter"]


def counting(loop: Loop) -> Loop:
    """The loop in which a copy counts whose turn it is."""
    return replace(loop, name=f"{loop.name}_t")


def scatter(program: Program, computation: Computation) -> Program:
    """Follow every ``scatter``."""
    for chain in list(computation.chains.values()):
        for isolated in chain:
            if isolated.scattered:
                program = _scatter(program, computation, isolated)
    return program


def _scatter(program: Program, computation: Computation, isolated: Isolated) -> Program:
    assert isolated.scattered
    name, step, place = isolated.scattered
    loop = computation.loop(name)
    function = program.function(isolated.name)
    receives = [one for one in all_statements(function.body) if isinstance(one, Receive)]
    if not receives:
        raise MappingError(f"{place}: {isolated.name}.scatter: nothing is sent to it")
    entry = program.channel(receives[0].channel)
    if loop in program.function(entry.source).instances:
        raise MappingError(
            f"{place}: {isolated.name}.scatter: loop `{name}` is unrolled in {entry.source}, too"
        )
    along = Channel(f"{isolated.name}_scatter", isolated.name, isolated.name, entry.dimensions)
    at = tuple(variable(one.name) for one in entry.dimensions)
    outside = tuple(variable(one.name) for one in entry.dimensions if one != loop)
    own, (first, last) = variable(name), edges(loop, step)
    turn = counting(loop)

    def take(body: Body) -> Body:
        """A receive and what follows it, in the copy whose turn it is; else it is passed on."""
        receive, *rest = body
        assert isinstance(receive, Receive)
        onward = neighbour(at, along.dimensions, loop, step)
        return (
            If(
                Equal(own, first),
                (replace(receive, at=outside),),
                (Receive(receive.name, along.name, at),),
            ),
            If(
                Equal(variable(turn.name), own),
                tuple(rest),
                (Send(along.name, onward, Name(receive.name)),),
            ),
        )

    bounds = (own, last) if step > 0 else (last, own)
    body = _in_turn(function, loop, For(turn, (), *bounds), entry.name, take)
    program = program.with_function(isolated.name, lambda one: replace(one, body=body))
    return _joined(program, entry, loop, outside, along)


def gather(program: Program, computation: Computation) -> Program:
    """Follow every ``gather``."""
    for isolated in computation.chain(computation.name):
        if isolated.gathered:
            program = _gather(program, computation, isolated)
    return program


def _gather(program: Program, computation: Computation, isolated: Isolated) -> Program:
    assert isolated.gathered
    name, step, place = isolated.gathered
    loop = computation.loop(name)
    if isolated.level:
        program = count_at(program, computation, isolated, loop)
    function = program.function(isolated.name)
    sends = [one for one in all_statements(function.body) if isinstance(one, Send)]
    if not sends:
        raise MappingError(
            f"{place}: {isolated.name}.gather: it sends to nothing: consumers must "
            "be isolated from it"
        )
    (receive,) = (one for one in all_statements(function.body) if isinstance(one, Receive))
    exit_ = program.channel(sends[0].channel)
    if loop in program.function(exit_.sink).instances:
        raise MappingError(
            f"{place}: {isolated.name}.gather: loop `{name}` is unrolled in {exit_.sink}, too"
        )
    along = Channel(f"{isolated.name}_gather", isolated.name, isolated.name, exit_.dimensions)
    at = tuple(variable(one.name) for one in exit_.dimensions)
    outside = tuple(variable(one.name) for one in exit_.dimensions if one != loop)
    own, (first, last) = variable(name), edges(loop, step)
    if isolated.packs:
        program = pack_words(program, computation, isolated, loop, along, receive)
        return _joined(program, exit_, loop, outside, along)
    turn = counting(loop)

    def pass_on(body: Body) -> Body:
        """What is received of its own, or of the copy behind, is sent to the one ahead."""
        onward = neighbour(at, along.dimensions, loop, step)
        value = Name(receive.name)
        return (
            If(
                Equal(variable(turn.name), own),
                (receive,),
                (Receive(receive.name, along.name, at),),
            ),
            If(
                Equal(own, last),
                (Send(exit_.name, outside, value),),
                (Send(along.name, onward, value),),
            ),
        )

    bounds = (first, own) if step > 0 else (own, first)
    body = _in_turn(function, loop, For(turn, (), *bounds), receive.channel, pass_on)
    program = program.with_function(isolated.name, lambda one: replace(one, body=body))
    return _joined(program, exit_, loop, outside, along)


def _in_turn(
    function: Function, loop: Loop, turns: For, channel: str, change: Callable[[Body], Body]
) -> Body:
    """Put a counting loop where ``loop`` was unrolled, around what receives from ``channel``; and
    change that. What else is in it is done in the copy whose turn it is."""
    mine = Equal(variable(turns.loop.name), variable(loop.name))

    def receives(one: Statement) -> bool:
        return any(
            isinstance(inner, Receive) and inner.channel == channel
            for inner in all_statements((one,))
        )

    def innermost(body: Body) -> Body:
        if any(isinstance(one, Receive) for one in body):
            return change(body)
        return tuple(
            replace(one, body=innermost(one.body))
            if isinstance(one, For) and receives(one)
            else If(mine, (one,))
            for one in body
        )

    def enter(one: Statement) -> Body | None:
        if not (isinstance(one, For) and one.loop == loop and receives(one)):
            return None
        if any(isinstance(inner, Receive) for inner in one.body):
            return (replace(one, body=(replace(turns, body=change(one.body)),)),)
        body = (
            replace(turns, body=innermost((inner,))) if receives(inner) else inner
            for inner in one.body
        )
        return (replace(one, body=tuple(body)),)

    return rewrite(function.body, enter)


def _joined(
    program: Program, channel: Channel, loop: Loop, outside: tuple[Affine, ...], along: Channel
) -> Program:
    """A channel without a loop that it was unrolled with, at its other end, too."""

    def change(one: Statement) -> Body | None:
        if isinstance(one, Send | Receive) and one.channel == channel.name:
            return (replace(one, at=outside),)
        return None

    for end in {channel.source, channel.sink} - {along.source}:
        program = program.with_function(
            end, lambda one: replace(one, body=rewrite(one.body, change))
        )
    dimensions = tuple(one for one in channel.dimensions if one != loop)
    program = program.with_channel(channel.name, lambda one: replace(one, dimensions=dimensions))
    return replace(program, channels=(*program.channels, along))
