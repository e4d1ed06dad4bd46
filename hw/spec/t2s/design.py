"""Design: a program with all parts of its hardware."""

from __future__ import annotations

from dataclasses import dataclass

from ..formats import Format
from .loops import Loop
from .parts import Count, ElementPart, FeederPart, MemoryPart, MoverPart, RoutePart
from .program import Program
from .sparse_parts import SparsePlan

Place = tuple[int, ...]
"""Place of a copy: the iterations of the loops that are unrolled in its function."""

COPIES_BITS = 8
"""Bits of the number of copies that words are sent to, or arrive from."""


@dataclass(frozen=True)
class Copy:
    """Copy of a function, or of a route of its words.

    Parameters
    ----------
    function: its name
    place: which copy
    ahead: how many copies words pass to, or come from, if it has a turn or packs vectors
    """

    function: str
    place: Place
    ahead: int = 0

    @property
    def name(self) -> str:
        return "_".join((self.function, *map(str, self.place)))


@dataclass(frozen=True)
class End:
    """Port of a copy of a function, or of a route of its words.

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
    """A queue between two ports.

    Parameters
    ----------
    channel, at: the channel's name, and which queue of its array; of what routes words and the
        function itself, the name of the route
    source, sink: its ends
    depth: words that it holds; 0: the ends are joined as they are
    """

    channel: str
    at: Place
    source: End
    sink: End
    depth: int = 0

    @property
    def name(self) -> str:
        return "_".join((self.channel, *map(str, self.at)))


@dataclass(frozen=True)
class Design:
    """Program with all parts of its hardware.

    Parameters
    ----------
    program: after all passes
    element: its processing elements
    feeders, movers, loaders, unloader: its other functions on the device
    routes: between functions and arrays of queues that they walk
    copies: of all functions and routes
    links: between them
    sparse: what it has for sparse operands, whose loaders are none of these; feeders, movers,
        routes, copies and links are empty then
    """

    program: Program
    element: ElementPart
    feeders: tuple[FeederPart, ...]
    movers: tuple[MoverPart, ...]
    loaders: tuple[MemoryPart, ...]
    unloader: MemoryPart
    routes: tuple[RoutePart, ...] = ()
    copies: tuple[Copy, ...] = ()
    links: tuple[Link, ...] = ()
    sparse: SparsePlan | None = None

    @property
    def indices(self) -> tuple[str, ...]:
        """Indices whose outermost loops have a register each, of the trip count."""
        used = {
            loop.name for one in (*self.loaders, self.unloader) for loop in _from_registers(one)
        }
        return tuple(one for one in self.program.indices if one in used)

    def word_format(self, tensor: str) -> Format:
        """Format of a tensor's words. The result, and the initial values of sums, have that of
        sums."""
        of_sums = tensor in (self.program.result, self.program.start)
        return self.element.arithmetic.result if of_sums else self.element.arithmetic.element

    def image_loops(self, part: MemoryPart) -> tuple[tuple[Loop, ...], tuple[Loop, ...]]:
        """Loops of a part's image in the order in which memory has them, outermost first: those
        with a stride each, and those whose words follow each other."""
        loops = self.program.tensor(f"{part.tensor}_image").image
        inside = {one.name for one in part.run}
        moved = tuple(one for one in loops if one.name in part.strides)
        run = tuple(one for one in loops if one.name in inside)
        lanes = tuple(one for one in loops if one not in moved and one not in run)
        return moved, (*run, *lanes)


def _from_registers(part: MemoryPart) -> list[Count]:
    return [one.count for one in part.steps if one.count.from_register]
