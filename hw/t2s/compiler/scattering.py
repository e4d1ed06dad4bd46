"""Data scattering and gathering: copies of a function in a row, each of which keeps or adds its own
and passes on the rest, by a counting loop (section 3.4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...spec.t2s.loops import Affine, Loop, variable
from ...spec.t2s.program import Channel, Function, Program
from ...spec.t2s.statements import Body, Equal, For, If, Name, Pack, Receive, Send, Statement, Store
from ..language import Computation, MappingError
from ..language.isolated import Isolated
from .partition import image_of
from .removal import drop_loops, with_image
from .rewriting import all_statements, loops_in, rewrite, without_loops


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


def count_at(program: Program, computation: Computation, isolated: Isolated, loop: Loop) -> Program:
    """Move a loop that a function gathers along to where it shall count turns, in that function and
    in all that take words behind it; and in the image that they write."""
    assert isolated.level
    level, place = isolated.level
    there = [one.name for one in loops_in(program.function(isolated.name).body)]
    if level not in there:
        raise MappingError(f"{place}: {isolated.name}.gather: it has no loop `{level}`")
    chain = computation.chain(computation.name)
    for one in chain[chain.index(isolated) :]:
        if one.on_host:
            program = _reordered(program, image_of(computation.name), loop, level)
        else:
            program = program.with_function(
                one.name, lambda given: replace(given, body=_moved(given.body, loop, level))
            )
    return program


def _moved(body: Body, loop: Loop, level: str) -> Body:
    def wrap(one: Statement) -> Body | None:
        if isinstance(one, For) and one.loop.name == level:
            return (replace(one, body=(For(loop, one.body),)),)
        return None

    return rewrite(without_loops(body, [loop.name]), wrap)


def _reordered(program: Program, image: str, loop: Loop, level: str) -> Program:
    names = [one.name for one in program.tensor(image).image]
    places = [n for n, name in enumerate(names) if name != loop.name]
    places.insert(places.index(names.index(level)) + 1, names.index(loop.name))
    return with_image(program, image, places)


def counting(loop: Loop) -> Loop:
    """Returns the loop in which a copy counts turns."""
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
        """Sends on the word received: from outside in its own turn, else from the copy behind."""
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
