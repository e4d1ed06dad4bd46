"""Queues of a design, by number, and how many words each has room for."""

from __future__ import annotations

from collections.abc import Mapping

from ...spec.t2s.design import Design
from ...spec.t2s.network import Copy, End, Link

__all__ = ["Queues", "depth_of"]

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
    """Words that a link's queue holds: what the mapping says; or a register between neighbours, two
    registers elsewhere, and so many ``more``; 0 where both ends hold some themselves."""
    for channel in design.program.channels:
        if channel.name == link.channel and channel.depth:
            return channel.depth
    ends = {link.source.function, link.sink.function}
    memory = {design.unloader.name, *(one.name for one in design.loaders)}
    # Functions that read or write memory have registers of their own.
    joined = ends & memory or link.channel in {one.name for one in design.routes}
    # A sum that leaves its ring has a register, too.
    drained = link.source.function == design.element.name and not design.element.overlaps
    usual = 1 if len(ends) == 1 or drained else 2
    if joined or _is_result(design, link):
        usual = 0
    return usual + more.get(link.channel, 0)


def _is_result(design: Design, link: Link) -> bool:
    """Tells whether a link leaves an element that has a queue of its results."""
    if not design.element.overlaps:
        return False
    return link.source.function == design.element.name != link.sink.function
