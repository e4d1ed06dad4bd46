"""Routes between a function that is not unrolled and an array of queues, visited in turn."""

from __future__ import annotations

from ...spec.t2s.loops import Affine, variable
from ...spec.t2s.parts import ElementPart, RoutePart
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import Name, Receive, Send, Store
from .elements import word_bits
from .moving import needed, stored_lanes
from .transfers import Done, count_of, done_by

__all__ = ["route_name", "routed_dimensions", "routes_of"]


def routed_dimensions(function: Function, at: tuple[Affine, ...]) -> tuple[int, ...]:
    """Dimensions of an array of queues that a function walks by loops of its own."""
    instances = {one.name for one in function.instances}
    return tuple(
        n for n, index in enumerate(at) if any(one not in instances for one in index.variables)
    )


def route_name(what: Send | Receive) -> str:
    """Returns the name of the route of a transfer's words."""
    return f"{what.channel}_{'spread' if isinstance(what, Send) else 'join'}"


def routes_of(program: Program, element: ElementPart) -> tuple[RoutePart, ...]:
    """Returns the routes of a program. Raises ValueError for one that has no hardware yet."""
    found: dict[str, RoutePart] = {}
    for function in program.functions:
        if function.host:
            continue
        for one in done_by(function):
            if isinstance(one.what, Send | Receive) and routed_dimensions(function, one.what.at):
                part = _route(program, function, one, element)
                found[part.name] = part
    return tuple(found.values())


def _route(program: Program, function: Function, done: Done, element: ElementPart) -> RoutePart:
    assert isinstance(done.what, Send | Receive)
    channel = program.channel(done.what.channel)
    loops = tuple(count_of(one) for one in done.loops)
    if done.own:
        loops = tuple(one for one in loops if not one.turn)
    names = []
    for n in routed_dimensions(function, done.what.at):
        index = done.what.at[n]
        if index != variable(index.variables[0]):
            raise ValueError(f"{function.name} has no hardware yet: a queue is chosen by {index}")
        names.append(index.variables[0])
    nest = needed(loops, names)
    if done.own is False or any(one.turn for one in nest):
        raise ValueError(
            f"{function.name} has no hardware yet: it passes words on to queues that it chooses"
        )
    tensor = _carried(program, function, done.what)
    bits = word_bits(element, tensor)
    # Words of copies side by side go to the unloader only.
    if any(isinstance(step.what, Store) for step in done_by(function)):
        bits = stored_lanes(function) * element.arithmetic.result.container_bits
    return RoutePart(
        name=route_name(done.what),
        word_bits=bits,
        nest=nest,
        routed=tuple(names),
        joins=isinstance(done.what, Receive),
        flagged=tensor == element.operands[0].name and channel.sink == program.name,
    )


def _carried(program: Program, function: Function, what: Send | Receive) -> str:
    """Returns the tensor whose words a transfer carries."""
    if isinstance(what, Receive):
        return what.name
    if isinstance(what.value, Name):
        return what.value.name
    return program.name if function.name == program.name else function.name.rpartition("_")[0]
