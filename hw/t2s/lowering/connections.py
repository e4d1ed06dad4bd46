"""Queues of a design, each between two ports of copies of functions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...spec.t2s.affine import Affine
from ...spec.t2s.expressions import Name
from ...spec.t2s.parts import Design
from ...spec.t2s.program import Function
from ...spec.t2s.statements import Equal, For, Receive, Send
from .routing import route_name, routed_dimensions
from .steps_of import done_by

__all__ = ["Copy", "End", "Link", "copies", "links", "stems"]

Place = tuple[int, ...]


@dataclass(frozen=True)
class Copy:
    """A copy of a function.

    Parameters
    ----------
    function: its name
    place: the iterations of the loops that are unrolled in it
    ahead: how many copies words pass to, or come from, if it has a turn
    """

    function: str
    place: Place
    ahead: int = 0

    @property
    def name(self) -> str:
        return "_".join((self.function, *map(str, self.place)))


@dataclass(frozen=True)
class End:
    """A port of a copy of a function, or of what routes its words.

    Parameters
    ----------
    function, place: which copy
    port: its name
    branch: of a route, the number of the queue; None of a function
    """

    function: str
    place: Place
    port: str
    branch: int | None = None


@dataclass(frozen=True)
class Link:
    """A queue: the channel's name, which of its array, and its ends."""

    channel: str
    at: Place
    source: End
    sink: End

    @property
    def name(self) -> str:
        return "_".join((self.channel, *map(str, self.at)))


def copies(function: Function) -> Iterator[Copy]:
    """All copies of a function."""
    turns = [loop for one in done_by(function) for loop in one.loops if loop.first is not None]
    for place in _places(function):
        at = _named(function, place)
        yield Copy(function.name, place, _ahead(turns[0], at) if turns else 0)


def links(design: Design) -> tuple[Link, ...]:
    """All queues, in the order of the program's functions."""
    sources: dict[tuple[str, Place], End] = {}
    sinks: dict[tuple[str, Place], End] = {}
    for function in design.program.functions:
        if function.host:
            continue
        for place, what, own in _transfers(function):
            ends = sources if isinstance(what, Send) else sinks
            for at, end in _ends(design, function, place, what, own):
                ends[what.channel, at] = end
    # At the end of a row there is no queue to pass words on to.
    both = [one for one in sources if one in sinks]
    return tuple(Link(*one, sources[one], sinks[one]) for one in both)


def stems(design: Design) -> dict[tuple[str, Place], End]:
    """Of each route and copy of its function, the function's port."""
    found = {}
    for function in design.program.functions:
        for place, what, own in _transfers(function) if not function.host else ():
            if routed_dimensions(function, what.at):
                port = _port(design, function, what, own)
                found[route_name(what), place] = End(function.name, place, port)
    return found


def _transfers(function: Function) -> Iterator[tuple[Place, Send | Receive, bool | None]]:
    """What each copy sends and receives, and whether in its own turn."""
    for place in _places(function):
        at = _named(function, place)
        for one in done_by(function):
            holds = all(_holds(condition, at) == wanted for condition, wanted in one.when)
            if isinstance(one.what, Send | Receive) and holds:
                yield place, one.what, one.own


def _ends(
    design: Design, function: Function, place: Place, what: Send | Receive, own: bool | None
) -> Iterator[tuple[Place, End]]:
    """The queues of a transfer, each with its end there."""
    given = _named(function, place)
    if not routed_dimensions(function, what.at):
        there = tuple(_value(one, given) for one in what.at)
        yield there, End(function.name, place, _port(design, function, what, own))
        return
    name = route_name(what)
    (route,) = (one for one in design.routes if one.name == name)
    spans = [range(one) for one in route.extents]
    for branch, chosen in enumerate(itertools.product(*spans)):
        walked = given | dict(zip(route.routed, chosen, strict=True))
        there = tuple(_value(one, walked) for one in what.at)
        yield there, End(name, place, "branches", branch)


def _port(design: Design, function: Function, what: Send | Receive, own: bool | None) -> str:
    """The port of a function at which it sends or receives."""
    if function.name != design.program.name:
        ports = {Receive: ("i", "i_behind"), Send: ("o", "o_onward")}[type(what)]
        return ports[own is False]
    if isinstance(what, Receive):
        return f"i_{what.name}"
    if not isinstance(what.value, Name):
        return "o"
    name = what.value.name
    return f"o_{name}_{what.channel.removeprefix(f'{name}_').removesuffix('_forward')}"


def _places(function: Function) -> Iterator[Place]:
    return itertools.product(*(range(one.extent or 1) for one in function.instances))


def _named(function: Function, place: Place) -> dict[str, int]:
    names = (one.name for one in function.instances)
    return dict(zip(names, place, strict=True))


def _value(index: Affine, given: Mapping[str, int]) -> int:
    return index.constant + sum(by * given[name] for name, by in index.terms)


def _holds(condition: Equal, given: Mapping[str, int]) -> bool:
    return _value(condition.left, given) == _value(condition.right, given)


def _ahead(turn: For, given: Mapping[str, int]) -> int:
    assert turn.first is not None
    assert turn.last is not None
    return _value(turn.last, given) - _value(turn.first, given)
