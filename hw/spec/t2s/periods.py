"""Cuts the run of a program into periods: iterations of loops that all functions share."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .loops import Loop
from .program import Function, Program
from .statements import Body, For, If

__all__ = ["element_loops", "functions_behind", "period_loops", "plain_name", "walked_loops"]


def walked_loops(function: Function) -> tuple[Loop, ...]:
    """Loops that an instance repeats; of one in which it counts turns, that whose turns they are;
    outermost first, one that follows others beside it later."""
    found = dict.fromkeys(_walked(function.body, {one.name for one in function.instances}))
    return tuple(found)


def _walked(body: Body, instances: set[str]) -> Iterator[Loop]:
    for one in body:
        if isinstance(one, For):
            if one.loop.name not in instances:
                yield one.loop
            yield from _walked(one.body, instances)
        elif isinstance(one, If):
            yield from _walked((*one.then, *one.otherwise), instances)


def period_loops(program: Program) -> tuple[str, ...]:
    """Loops whose iterations are periods of the whole run, outermost first: those whose trip counts
    are registers', and constant ones that a function repeats around one of those."""
    order = [one.name for one in element_loops(program)]
    found: set[str] = set()
    for function in program.functions:
        if function.host:
            continue
        walked = walked_loops(function)
        registers = [n for n, one in enumerate(walked) if one.extent is None]
        if registers:
            last = max(order.index(walked[n].name) for n in registers)
            names = {plain_name(one.name, order) for one in walked}
            found |= {name for name in names if order.index(name) <= last}
    return tuple(name for name in order if name in found)


def element_loops(program: Program) -> tuple[Loop, ...]:
    """All loops of the elements, outermost first, also those that are instances."""
    found: list[Loop] = []

    def enter(body: Body) -> None:
        for one in body:
            if isinstance(one, For):
                found.append(one.loop)
                enter(one.body)
            elif isinstance(one, If):
                enter((*one.then, *one.otherwise))

    enter(program.function(program.name).body)
    return tuple(dict.fromkeys(found))


def plain_name(name: str, order: Collection[str]) -> str:
    """The loop whose turns one counts, or itself."""
    return name if name in order else name.removesuffix("_t")


def functions_behind(program: Program) -> set[str]:
    """Functions that take results."""
    found: set[str] = set()
    sinks = [program.name]
    while sinks:
        source = sinks.pop()
        for one in program.channels:
            if one.source == source and one.sink not in (source, *found):
                found.add(one.sink)
                sinks.append(one.sink)
    return found
