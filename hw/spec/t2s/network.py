"""Copies of a design's functions, and the queues between their ports."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COPIES_BITS", "Copy", "End", "Link", "Place"]

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
