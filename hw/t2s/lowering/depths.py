"""How many words the queues of a design hold, so that it never stops.

Each has a register, or two where `ready` is cut, too. Where functions would wait for each other,
queues that are full then are made longer (T. M. Parks, "Bounded scheduling of process networks",
1995), all of a channel alike; in the end each is made as short as the others allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...spec.t2s.network import Link
from ...spec.t2s.parts import Design
from .words_through import Network, Stopped

__all__ = ["with_depths"]

_MOST = 1 << 20

_CUT = (3, 4)
"""Trip counts of loops of blocks that are looked at first."""


def with_depths(design: Design, said: Mapping[str, tuple[int, str]]) -> Design:
    """The design with depths of its queues. Raises ValueError if it stops whatever they are.

    Those that are ``said``, with places, by channel, stay as they are.

    Where a queue has to hold a part of a block, it has to hold more of a larger one: so blocks that
    are cut show whether there is such a queue, and only then are whole ones looked at.
    """
    if all(_ends(design, {}, longest) is None for longest in _CUT):
        grown: dict[str, int] = {}
    else:
        grown = _grown(design, said)
    for name in grown:
        # One word less is room enough, or is not.
        low, high = -1, grown[name]
        while high - low > 1:
            middle = (low + high) // 2
            if _ends(design, {**grown, name: middle}) is None:
                high = middle
            else:
                low = middle
        grown[name] = high
    links = tuple(replace(one, depth=_depth(design, one, grown)) for one in design.links)
    return replace(design, links=links)


def _grown(design: Design, said: Mapping[str, tuple[int, str]]) -> dict[str, int]:
    """Words by channel, beyond what its queues have anyway, with which the design goes on."""
    more: dict[str, int] = {}
    while (stopped := _ends(design, more)) is not None:
        full = [name for name in sorted(stopped.full) if name not in said]
        if not full or max(more.values(), default=0) > _MOST:
            raise _refused(design, stopped, said)
        shortest = min(more.get(name, 0) for name in full)
        for name in full:
            if more.get(name, 0) == shortest:
                more[name] = max(1, 2 * shortest)
    return more


def _refused(design: Design, stopped: Stopped, said: Mapping[str, tuple[int, str]]) -> ValueError:
    """Of a design that stops, whatever other queues hold."""
    for name in sorted(stopped.full & set(said)):
        depth, place = said[name]
        return ValueError(f"{place}: {name}.fifo: with a depth of {depth} the design stops")
    return ValueError(f"{design.program.name} would stop, whatever queues hold: {stopped}")


def _ends(design: Design, more: dict[str, int], longest: int | None = None) -> Stopped | None:
    try:
        Network(design, lambda link, sums: _room(design, link, more, sums), longest).run()
    except Stopped as stopped:
        return stopped
    return None


def _depth(design: Design, link: Link, more: dict[str, int]) -> int:
    """Words that a link's queue holds."""
    for channel in design.program.channels:
        if channel.name == link.channel and channel.depth:
            return channel.depth
    ends = {link.source.function, link.sink.function}
    memory = {design.unloader.name, *(one.name for one in design.loaders)}
    # What reads and writes memory has registers of its own.
    joined = ends & memory or link.channel in {one.name for one in design.routes}
    usual = 1 if len(ends) == 1 else 2
    if joined or _is_result(design, link):
        usual = 0
    return usual + more.get(link.channel, 0)


def _room(design: Design, link: Link, more: dict[str, int], sums: int) -> int:
    """Words that there is room for, with what its ends hold."""
    held = sums if _is_result(design, link) else 0
    return max(1, held + _depth(design, link, more))


def _is_result(design: Design, link: Link) -> bool:
    """Whether it leaves an element, which has a queue of its results."""
    return link.source.function == design.element.name != link.sink.function
