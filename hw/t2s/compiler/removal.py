"""Removal of reuse loops, and the buffers that make up for it (section 3.4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ...spec.t2s.loops import Affine, variable
from ...spec.t2s.program import Buffer, Function, Program
from ...spec.t2s.statements import (
    Body,
    BufferRead,
    BufferWrite,
    For,
    Load,
    Send,
    Statement,
    Store,
    Value,
)
from ..language import Computation, MappingError
from ..language.isolated import Isolated
from .partition import loops_of_words
from .rewriting import all_statements, loops_in, nest, revalue, rewrite, without_loops


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


def drop_loops(
    program: Program, chain: tuple[Isolated, ...], first: int, names: Iterable[str]
) -> Program:
    """Take loops from a producer and from those behind it, down to the host's layout."""
    gone = set(names)
    for isolated in chain[first:]:
        program = program.with_function(
            isolated.name,
            lambda one: without_dimensions(replace(one, body=without_loops(one.body, gone)), gone),
        )
        if isolated.on_host:
            program = _drop_from_image(program, isolated, gone)
    return program


def remove(program: Program, computation: Computation) -> Program:
    """Follow every ``remove`` and ``buffer``."""
    for factor in computation.operands:
        chain = computation.chain(factor.tensor.name)
        for place, isolated in enumerate(chain):
            gone = [name for name, _ in isolated.removed]
            for name, where in isolated.removed:
                _check_removed(program, computation, isolated, name, where)
            program = drop_loops(program, chain, place, gone)
        _check_streams(program, computation, chain)
        for isolated in chain:
            if isolated.buffered:
                program = _buffer(program, computation, chain, isolated)
    return program


def _check_removed(
    program: Program, computation: Computation, isolated: Isolated, name: str, place: str
) -> None:
    """Refuse a loop that is not there, or of which iterations are copies at either end."""
    loop, directive = computation.loop(name), f"{place}: {isolated.name}.remove"
    if loop not in loops_of_words(computation, isolated.tensor):
        raise MappingError(f"{directive}: it has no loop `{name}`")
    if loop in program.function(isolated.name).instances:
        raise MappingError(f"{directive}: loop `{name}` is unrolled in it")
    for one in program.channels:
        if one.source == isolated.name and loop in one.dimensions:
            raise MappingError(
                f"{directive}: loop `{name}` is unrolled in {one.sink}, which would have to "
                "forward along it"
            )


def _check_streams(program: Program, computation: Computation, chain: tuple[Isolated, ...]) -> None:
    """Refuse functions that would wait for what is not sent again."""
    tensor = chain[0].tensor
    names = [one.name for one in loops_of_words(computation, tensor)]
    forwarded = [one for one, _, _ in computation.forwarded.get(tensor, [])]
    there = [one for one in names if one not in forwarded]
    receiver, buffered = computation.name, None
    for isolated in chain:
        if isolated.on_host:
            return
        sent = [one.name for one in loops_in(program.function(isolated.name).body)]
        missing = [one for one in there if one not in sent]
        if missing and not buffered:
            loop = missing[0]
            place = next((p for name, p in isolated.removed if name == loop), isolated.place)
            raise MappingError(
                f"{place}: {isolated.name}.remove: {receiver} repeats loop `{loop}` and has no "
                "buffer"
                + (
                    f" outside it: {receiver} must be isolated from it"
                    if receiver == computation.name
                    else ": buffer it at an outer loop"
                )
            )
        if missing and buffered:
            level, _, place = buffered
            if level not in there or names.index(level) >= names.index(missing[0]):
                raise MappingError(
                    f"{place}: {receiver}.buffer: loop `{level}` must be outside `{missing[0]}`, "
                    f"which {isolated.name} does not have"
                )
        passed = [one for one, _, _ in isolated.forwarded]
        there = [one for one in sent if one not in passed]
        receiver, buffered = isolated.name, isolated.buffered


def _buffer(
    program: Program, computation: Computation, chain: tuple[Isolated, ...], isolated: Isolated
) -> Program:
    assert isolated.buffered
    level, double, place = isolated.buffered
    function = program.function(isolated.name)
    behind = chain[chain.index(isolated) + 1] if isolated is not chain[-1] else None
    if behind is None or behind.on_host:
        raise MappingError(f"{place}: {isolated.name}.buffer: nothing is sent to it")
    if level not in [one.name for one in loops_in(function.body)]:
        raise MappingError(f"{place}: {isolated.name}.buffer: it has no loop `{level}`")
    names = computation.loop_names
    inside = [
        one
        for one in loops_in(program.function(behind.name).body)
        if names.index(one.name) > names.index(level)
    ]
    instances = {one.name for one in function.instances}
    dimensions = tuple(one for one in inside if one.name not in instances)
    for one in dimensions:
        if one.extent is None:
            raise MappingError(
                f"{place}: {isolated.name}.buffer: loop `{one.name}` inside `{level}` has no "
                "constant trip count"
            )
    name = f"{isolated.name}_buffer"
    at = tuple(variable(one.name) for one in dimensions)

    def insert(statement: Statement) -> Body | None:
        if isinstance(statement, For) and statement.loop.name == level:
            taking, sent = _taking(statement.body, isolated.name)
            fill = nest(inside, (*taking, BufferWrite(name, at, sent)))
            rest = rewrite(statement.body, lambda one: () if one in taking else None)
            rest = revalue(rest, _reading(sent, BufferRead(name, at)))
            return (replace(statement, body=(*fill, *rest)),)
        return None

    buffer = Buffer(name, dimensions, level, double)
    return program.with_function(
        isolated.name,
        lambda one: replace(one, body=rewrite(one.body, insert), buffers=(*one.buffers, buffer)),
    )


def _taking(body: Body, channel: str) -> tuple[Body, Value]:
    """Returns the statements before a word is sent into a channel, and the word.

    The statements take the word, and perhaps pass it on.
    """
    for place, one in enumerate(body):
        if isinstance(one, Send) and one.channel == channel:
            return body[:place], one.value
        if isinstance(one, For):
            return _taking(one.body, channel)
    raise AssertionError(f"nothing is sent into {channel}")


def _reading(word: Value, read: BufferRead) -> Callable[[Value], Value | None]:
    return lambda value: read if value == word else None


def _drop_from_image(program: Program, isolated: Isolated, gone: set[str]) -> Program:
    """Take loops from the layout that a serialiser makes, and from where it is read."""
    (stored,) = (
        one
        for one in all_statements(program.function(isolated.name).body)
        if isinstance(one, Store)
    )
    image = program.tensor(stored.tensor)
    stay = [n for n, one in enumerate(image.image) if one.name not in gone]
    return with_image(program, image.name, stay)
