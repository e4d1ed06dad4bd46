"""Compute partition: what loads operands and stores results becomes functions of its own, with
channels in between (section 3.4.1)."""

from __future__ import annotations

from dataclasses import replace

from ...spec.t2s.loops import Loop, variable
from ...spec.t2s.program import Channel, Function, Program, TensorDeclaration
from ...spec.t2s.statements import (
    Body,
    BufferWrite,
    Load,
    Name,
    Receive,
    Send,
    Statement,
    Store,
    Value,
)
from ..language import Computation
from ..language.isolated import Isolated
from .rewriting import nest, revalue, rewrite

__all__ = ["image_of", "loops_of_words", "partition"]


def image_of(tensor: str) -> str:
    """The name of a tensor as the host has laid it out, in the order in which it is read."""
    return f"{tensor}_image"


def partition(program: Program, computation: Computation) -> Program:
    """Isolate producers of every operand and consumers of the result: what the mapping names, or a
    loader and an unloader."""
    for factor in computation.operands:
        name = factor.tensor.name
        program = _isolate_producers(program, computation, name, computation.chain(name))
    return _isolate_consumers(program, computation, computation.chain(computation.name))


def loops_of_words(computation: Computation, tensor: str) -> tuple[Loop, ...]:
    """Loops in which an element takes a word: all, or of what sums start from, the result's."""
    if computation.started and computation.started.tensor.name == tensor:
        return tuple(one for one in computation.loops if not one.reduces)
    return computation.loops


def _isolate_producers(
    program: Program, computation: Computation, tensor: str, chain: tuple[Isolated, ...]
) -> Program:
    found: list[Load] = []

    def take(value: Value) -> Value | None:
        if isinstance(value, Load) and value.tensor == tensor:
            found.append(value)
            return Name(tensor)
        return None

    def receive(one: Statement) -> Body | None:
        if isinstance(one, BufferWrite) and revalue((one,), take) != (one,):
            return (Receive(tensor, chain[0].name, ()), *revalue((one,), take))
        return None

    program = program.with_function(
        computation.name, lambda one: replace(one, body=rewrite(one.body, receive))
    )
    load: Load = found[0]
    loops, sink = loops_of_words(computation, tensor), computation.name
    functions, channels, tensors = [], [], []
    for place, isolated in enumerate(chain):
        behind = chain[place + 1] if place + 1 < len(chain) else None
        if isolated.on_host:
            body: Body = (Store(image_of(tensor), _variables(loops), load),)
            tensors.append(_image(program, tensor, loops))
        elif behind is None or behind.on_host:
            source = Load(image_of(tensor), _variables(loops)) if behind else load
            body = (Send(isolated.name, (), source),)
        else:
            body = (Receive(tensor, behind.name, ()), Send(isolated.name, (), Name(tensor)))
        functions.append(Function(isolated.name, nest(loops, body), host=isolated.on_host))
        if not isolated.on_host:
            channels.append(Channel(isolated.name, isolated.name, sink))
            sink = isolated.name
    return replace(
        program,
        functions=(*reversed(functions), *program.functions),
        channels=(*program.channels, *reversed(channels)),
        tensors=(*program.tensors, *tensors),
    )


def _isolate_consumers(
    program: Program, computation: Computation, chain: tuple[Isolated, ...]
) -> Program:
    name = computation.name
    loops = tuple(one for one in computation.loops if not one.reduces)
    stores: list[Store] = []

    def send(one: Statement) -> Body | None:
        if isinstance(one, Store):
            stores.append(one)
            return (Send(name, (), one.value),)
        return None

    program = program.with_function(name, lambda one: replace(one, body=rewrite(one.body, send)))
    place, source = stores[0].indices, name
    functions, channels, tensors = [], [], []
    for number, isolated in enumerate(chain):
        ahead = chain[number + 1] if number + 1 < len(chain) else None
        if isolated.on_host:
            value = Load(image_of(name), _variables(loops))
            body: Body = (Store(name, place, value),)
            tensors.append(_image(program, name, loops))
        else:
            channels.append(Channel(source, source, isolated.name))
            body = (Receive(name, source, ()),)
            if ahead is None:
                body += (Store(name, place, Name(name)),)
            elif ahead.on_host:
                body += (Store(image_of(name), _variables(loops), Name(name)),)
            else:
                body += (Send(isolated.name, (), Name(name)),)
            source = isolated.name
        functions.append(Function(isolated.name, nest(loops, body), host=isolated.on_host))
    return replace(
        program,
        functions=(*program.functions, *functions),
        channels=(*program.channels, *channels),
        tensors=(*program.tensors, *tensors),
    )


def _variables(loops: tuple[Loop, ...]) -> tuple:
    return tuple(variable(one.name) for one in loops)


def _image(program: Program, tensor: str, loops: tuple[Loop, ...]) -> TensorDeclaration:
    return TensorDeclaration(image_of(tensor), (), program.tensor(tensor).pad, loops)
