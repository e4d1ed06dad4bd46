"""A program as text: loop nests, indented."""

from __future__ import annotations

from collections.abc import Iterator

from .loops import Affine, Loop
from .program import Function, Program
from .statements import (
    Apply,
    Block,
    Body,
    BufferRead,
    BufferWrite,
    Counted,
    Ever,
    Flagged,
    Fold,
    For,
    If,
    Load,
    Name,
    Neutral,
    Pack,
    Phases,
    Receive,
    Rotate,
    Send,
    Store,
    Together,
    Until,
    Value,
    Visit,
    When,
)

__all__ = ["program_text"]

_SIGNS = {"plus": " (+) ", "times": " (x) "}


def program_text(program: Program) -> str:
    """Describes functions with their loops, buffers, channels and statements."""
    return "\n".join(line for one in program.functions for line in _function(program, one))


def _function(program: Program, function: Function) -> Iterator[str]:
    where = " on the host" if function.host else ""
    copies = "".join(f" [{_range(one)}]" for one in function.instances)
    yield f"{function.name}{copies}{where}:"
    for buffer in function.buffers:
        size = " x ".join(str(one.extent) for one in buffer.dimensions) or "1"
        kind = f"{', double' if buffer.double else ''}{', rotating' if buffer.rotating else ''}"
        yield f"    buffer {buffer.name}: {size}{kind}"
    for channel in program.channels:
        if channel.source == function.name and channel.depth:
            yield f"    fifo {channel.name}: {channel.depth}"
    instances = {one.name for one in function.instances}
    yield from _body(function.body, instances, 1)
    if function.beside:
        yield "  and at the same time:"
        yield from _body(function.beside, instances, 1)


def _body(body: Body, instances: set[str], depth: int) -> Iterator[str]:
    indent = "    " * depth
    for one in body:
        if isinstance(one, For) and one.loop.name in instances:
            yield from _body(one.body, instances, depth)
        elif isinstance(one, For):
            span, body, where = _range(one.loop), one.body, ""
            if one.first is not None:
                span = f"{one.loop.name} = {one.first} .. {one.last}"
            if len(body) == 1 and isinstance(body[0], Visit):
                where, body = f" where {_stored(body[0])}", body[0].body
            yield f"{indent}for {span}{where}:"
            yield from _body(body, instances, depth + 1)
        elif isinstance(one, If):
            yield from _if(one, instances, depth)
        elif isinstance(one, Visit | When | Ever | Until | Counted | Block):
            yield f"{indent}{_head(one)}:"
            yield from _body(one.body, instances, depth + 1)
            if isinstance(one, Counted):
                yield from (f"{indent}    {jump}" for jump in _jumps(one))
        elif isinstance(one, Phases):
            yield from _phases(one, instances, depth)
        elif isinstance(one, Receive):
            yield f"{indent}{one.name} = receive {one.channel}{_at(one.at)}"
        elif isinstance(one, Send):
            yield f"{indent}send {one.channel}{_at(one.at)}, {_value(one.value)}"
        elif isinstance(one, Store):
            lanes = f" lanes {one.lanes.name}" if one.lanes else ""
            yield f"{indent}{one.tensor}({_list(one.indices)}){lanes} = {_value(one.value)}"
        elif isinstance(one, BufferWrite):
            yield f"{indent}{one.buffer}({_list(one.indices)}) = {_value(one.value)}"
        elif isinstance(one, Rotate):
            yield f"{indent}rotate {one.buffer}"


def _head(one: Visit | When | Ever | Until | Counted | Block) -> str:
    if isinstance(one, Visit):
        return f"if {_stored(one)}"
    if isinstance(one, When):
        return f"if {one.word}.{one.flag}"
    if isinstance(one, Until):
        return f"until {one.word}.last"
    if isinstance(one, Ever):
        return "for ever"
    if isinstance(one, Block):
        return f"{'write' if one.writes else 'read'} a block of {one.buffer}"
    asked = [
        f", {field.name} = [{place}:{place + field.bits}]"
        for field, place in zip(one.fields, one.places, strict=True)
        if field.asked and len(one.fields) > 1
    ]
    return f"for {one.name} < {one.fields[0].extent << one.places[0]}{''.join(asked)}"


def _stored(one: Visit) -> str:
    """Describes the entries that must be present."""
    products = [" and ".join(map(_value, words)) for words in one.products]
    merged = (", or " if any(len(words) > 1 for words in one.products) else " or ").join(products)
    return (
        f"{merged} {'are' if len(one.products) == 1 and len(one.products[0]) > 1 else 'is'} there"
    )


def _jumps(one: Counted) -> Iterator[str]:
    """Describes the jumps of a counter from a field's last iteration, innermost first."""
    for field, place in list(zip(one.fields, one.places, strict=True))[:0:-1]:
        missing = (1 << field.bits) - field.extent
        if missing:
            bits = f"{one.name}[{place}:{place + field.bits}]"
            yield f"after {bits} == {field.extent - 1}: {one.name} += {missing << place}"


def _phases(one: Phases, instances: set[str], depth: int) -> Iterator[str]:
    indent, first = "    " * depth, 0
    yield f"{indent}for {one.name} < {one.extent}:"
    for phase in one.phases:
        below, digits = phase.extent, []
        for loop in phase.loops:
            below //= loop.extent or 1
            digits.append(f", {loop.name} = ({one.name} - {first}) / {below} % {loop.extent}")
        last = first + phase.extent - 1
        yield f"{indent}    if {first} <= {one.name} <= {last}{''.join(digits)}:"
        yield from _body(phase.body, instances, depth + 2)
        first += phase.extent


def _if(one: If, instances: set[str], depth: int) -> Iterator[str]:
    indent = "    " * depth
    sign = "==" if one.then else "!="
    yield f"{indent}if {one.condition.left} {sign} {one.condition.right}:"
    yield from _body(one.then or one.otherwise, instances, depth + 1)
    if one.then and one.otherwise:
        yield f"{indent}else:"
        yield from _body(one.otherwise, instances, depth + 1)


def _range(loop: Loop) -> str:
    last = loop.name.upper() if loop.extent is None else str(loop.extent)
    return f"{loop.name} < {last}"


def _at(at: tuple[Affine, ...]) -> str:
    return "".join(f"[{one}]" for one in at)


def _list(indices: tuple[Affine, ...]) -> str:
    return ", ".join(str(one) for one in indices)


def _value(value: Value) -> str:
    if isinstance(value, Neutral):
        return "identity"
    if isinstance(value, Name):
        return value.name
    if isinstance(value, Load):
        lanes = f" lanes {value.lanes.name}" if value.lanes else ""
        return f"{value.tensor}({_list(value.indices)}){lanes}"
    if isinstance(value, BufferRead):
        return f"{value.buffer}({_list(value.indices)})"
    if isinstance(value, Pack):
        return f"[{', '.join(map(_value, value.parts))}]"
    if isinstance(value, Together):
        return ", ".join(map(_value, value.terms))
    if isinstance(value, Fold):
        return f"fold({_value(value.start)}, {_value(value.vector)})"
    if isinstance(value, Flagged):
        flags = (
            f"{name} = {' & '.join(f'{loop} == {at}' for loop, at in its) or 1}"
            for name, its in (("first", value.first), ("last", value.last))
        )
        return f"{_value(value.value)} with {', '.join(flags)}"
    assert isinstance(value, Apply)
    arguments = [_value(one) for one in value.arguments]
    if value.operator in _SIGNS:
        return _SIGNS[value.operator].join(arguments)
    return f"{value.operator}({', '.join(arguments)})"
