"""Queues of a design, by number, and how many words each has room for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from ...spec.t2s.design import COPIES_BITS, Copy, Design, End, Link, Place
from ...spec.t2s.loops import Affine
from ...spec.t2s.parts import RoutePart
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import Equal, For, Name, Pack, Receive, Send
from .routing import route_name, routed_dimensions
from .transfers import done_by


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


ENDLESS = 1 << 60
"""Capacity of a queue whose ends wait for memory only."""


class Queues:
    """Queues between copies of functions; and of each feeder's buffer the blocks that are free, and
    those that are filled, which are taken and put as words are.

    Members
    -------
    names: the channel of each, or the feeder
    begins: words in each when a job begins
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self.names: list[str] = []
        self.begins: list[int] = []
        self._links: list[Link | None] = []
        self._blocks: list[int] = []
        self._at: dict[End, int] = {}
        for link in design.links:
            self._at[link.source] = self._at[link.sink] = self._add(link.channel, link)
        double = {one.name: one.double for one in design.feeders}
        for copy in design.copies:
            if copy.function in double:
                blocks = 1 + double[copy.function]
                for port, begins in (("free", blocks), ("filled", 0)):
                    end = End(copy.function, copy.place, port)
                    self._at[end] = self._add(copy.function, None, blocks, begins)

    def _add(self, name: str, link: Link | None, blocks: int = 0, begins: int = 0) -> int:
        self.names.append(name)
        self.begins.append(begins)
        self._links.append(link)
        self._blocks.append(blocks)
        return len(self.names) - 1

    def at(self, copy: Copy, port: str, branch: int | None = None) -> tuple[int, ...]:
        """Returns the queue at a port, if one exists."""
        end = End(copy.function, copy.place, port, branch)
        return (self._at[end],) if end in self._at else ()

    def joins(self, queue: int) -> bool:
        """Tells whether a queue is a plain connection: a word is put when it is taken."""
        link = self._links[queue]
        return link is not None and not self._room(link, {})

    def rooms(self, more: Mapping[str, int]) -> list[int]:
        """Words that each has room for, with what its ends hold.

        Parameters
        ----------
        more: words by channel, beyond what its queues have anyway
        """
        pairs = zip(self._links, self._blocks, strict=True)
        return [blocks if link is None else self._room(link, more) for link, blocks in pairs]

    def _room(self, link: Link, more: Mapping[str, int]) -> int:
        design = self._design
        memory = {design.unloader.name, *(one.name for one in design.loaders)}
        if memory & {link.source.function, link.sink.function}:
            return ENDLESS
        held = design.element.sums if _is_result(design, link) else 0
        return held + depth_of(design, link, more)


def depth_of(design: Design, link: Link, more: Mapping[str, int]) -> int:
    """Words that a link's queue holds: what the mapping says; or two, as a skid buffer, through
    which no ready passes; one behind a sum that leaves its ring; 0 where both ends hold some
    themselves. The last three are without ``more``, which is added."""
    for channel in design.program.channels:
        if channel.name == link.channel and channel.depth:
            return channel.depth
    ends = {link.source.function, link.sink.function}
    memory = {design.unloader.name, *(one.name for one in design.loaders)}
    # Functions that read or write memory have registers of their own.
    joined = ends & memory or link.channel in {one.name for one in design.routes}
    # A sum that leaves its ring has a register, too.
    drained = link.source.function == design.element.name != link.sink.function
    usual = 1 if drained else 2
    if joined or _is_result(design, link):
        usual = 0
    return usual + more.get(link.channel, 0)


def _is_result(design: Design, link: Link) -> bool:
    """Tells whether a link leaves an element that has a queue of its results."""
    if not design.element.overlaps:
        return False
    return link.source.function == design.element.name != link.sink.function
