"""Queues of a design, each between two ports of copies of functions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from ...spec.t2s.affine import Affine
from ...spec.t2s.expressions import Name, Pack
from ...spec.t2s.network import COPIES_BITS, Copy, End, Link, Place
from ...spec.t2s.parts import RoutePart
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import Equal, For, Receive, Send
from .routing import route_name, routed_dimensions
from .steps_of import done_by

__all__ = ["all_copies", "links", "named", "packed_along", "turn_of"]


def all_copies(program: Program, routes: tuple[RoutePart, ...]) -> tuple[Copy, ...]:
    """Returns all copies of the functions on the device, and of the routes.

    Raises ValueError for more copies in a row than hardware counts.
    """
    found: list[Copy] = []
    names = {one.name for one in routes}
    for function in program.functions:
        if function.host:
            continue
        turns = [loop for one in done_by(function) for loop in one.loops if loop.first is not None]
        for place in _places(function):
            given = named(function, place)
            ahead = len(turn_of(turns[0], given)) - 1 if turns else _packed(function, given)
            found.append(Copy(function.name, place, ahead))
        stems = {route_name(what) for _, what, _ in _transfers(function)} & names
        found += [Copy(name, place) for name in sorted(stems) for place in _places(function)]
    farthest = max(found, key=lambda one: one.ahead)
    if farthest.ahead >> COPIES_BITS:
        raise ValueError(
            f"{farthest.function} has no hardware yet: words pass through {farthest.ahead + 1} "
            f"copies of it in a row, at most {1 << COPIES_BITS} are counted"
        )
    return tuple(found)


def links(program: Program, routes: tuple[RoutePart, ...]) -> tuple[Link, ...]:
    """Returns all queues, in the order of the functions, with those at routes."""
    sources: dict[tuple[str, Place], End] = {}
    sinks: dict[tuple[str, Place], End] = {}
    stems: dict[tuple[str, Place], Link] = {}
    by_name = {one.name: one for one in routes}
    for function in program.functions:
        for place, what, own in _transfers(function) if not function.host else ():
            sends = isinstance(what, Send)
            end = End(function.name, place, _port(program, function, what, own))
            given = named(function, place)
            ends = sources if sends else sinks
            if not routed_dimensions(function, what.at):
                ends[what.channel, tuple(_value(one, given) for one in what.at)] = end
                continue
            route = by_name[route_name(what)]
            spans = [range(one) for one in route.extents]
            for branch, chosen in enumerate(itertools.product(*spans)):
                walked = given | dict(zip(route.routed, chosen, strict=True))
                there = tuple(_value(one, walked) for one in what.at)
                ends[what.channel, there] = End(route.name, place, "branches", branch)
            stem = End(route.name, place, "i" if sends else "o")
            pair = (end, stem) if sends else (stem, end)
            stems[route.name, place] = Link(route.name, place, *pair)
    # At the end of a row there is no queue to pass words on to.
    both = [one for one in sources if one in sinks]
    return (*(Link(*one, sources[one], sinks[one]) for one in both), *stems.values())


def _transfers(function: Function) -> Iterator[tuple[Place, Send | Receive, bool | None]]:
    """Yields what each copy sends and receives, and whether it does so in its own turn."""
    for place in _places(function):
        at = named(function, place)
        for one in done_by(function):
            holds = all(_holds(condition, at) == wanted for condition, wanted in one.when)
            if isinstance(one.what, Send | Receive) and holds:
                yield place, one.what, one.own


def _port(program: Program, function: Function, what: Send | Receive, own: bool | None) -> str:
    """The port of a function at which it sends or receives."""
    if function.name != program.name:
        if isinstance(what, Receive):
            behind = own is False or what.channel == f"{function.name}_gather"
            return "i_behind" if behind else "i"
        return "o" if own is not False else "o_onward"
    if isinstance(what, Receive):
        return f"i_{what.name}"
    if not isinstance(what.value, Name):
        return "o"
    name = what.value.name
    return f"o_{name}_{what.channel.removeprefix(f'{name}_').removesuffix('_forward')}"


def _places(function: Function) -> Iterator[Place]:
    return itertools.product(*(range(one.extent or 1) for one in function.instances))


def named(function: Function, place: Place) -> dict[str, int]:
    """Returns the place of a copy, by the loops that are unrolled."""
    names = (one.name for one in function.instances)
    return dict(zip(names, place, strict=True))


def _value(index: Affine, given: Mapping[str, int]) -> int:
    return index.constant + sum(by * given[name] for name, by in index.terms)


def _holds(condition: Equal, given: Mapping[str, int]) -> bool:
    return _value(condition.left, given) == _value(condition.right, given)


def turn_of(turn: For, given: Mapping[str, int]) -> range:
    """Returns the turns that a copy counts; its own turn is the first, or the last."""
    assert turn.first is not None
    assert turn.last is not None
    return range(_value(turn.first, given), _value(turn.last, given) + 1)


def _packed(function: Function, given: Mapping[str, int]) -> int:
    """Returns how many copies are behind a copy of a function that packs vectors."""
    first = _first_packing(function)
    return abs(_value(first.left, given) - _value(first.right, given)) if first else 0


def packed_along(function: Function) -> str:
    """Returns the loop along whose copies a function packs vectors; empty if it does not."""
    first = _first_packing(function)
    return first.left.variables[0] if first else ""


def _first_packing(function: Function) -> Equal | None:
    """Returns the condition of the first copy of a row, which has no copy behind; else None."""
    for one in done_by(function):
        if isinstance(one.what, Send) and isinstance(one.what.value, Pack):
            return next(condition for condition, _ in one.when)
    return None
