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
from ..compiler.rewriting import loops_in
from .words_through import Network, Stopped

__all__ = ["with_depths"]

_MOST = 1 << 16
"""Words of a queue, at most. Where loops of unknown trip counts decide, none is enough."""

_TRIPS = 3
"""Trip counts of registers."""

_LONG = 8
"""Of a loop, beside the others: more than there are registers between two functions."""

_CUT = (3, 4)
"""Trip counts of loops of blocks that are looked at first."""

_SHORTEST = 2
"""Where it only matters whether more is needed in longer jobs: a first iteration, and a last."""

Trips = dict[str, int]


def with_depths(design: Design, said: Mapping[str, tuple[int, str]]) -> Design:
    """The design with depths of its queues. Raises ValueError for one that would stop, for some
    trip counts of registers, whatever they are.

    Those that are ``said``, with places, by channel, stay as they are.

    Where a queue has to hold a part of a block, it has to hold more of a larger one: so jobs of
    blocks that are cut show whether there is such a queue, and only then are whole ones looked at.
    Likewise a queue that has to hold more in a job with more iterations of a loop has no depth that
    is enough for all jobs.
    """
    jobs = _jobs(design, _TRIPS)
    more: dict[str, int] = {}
    if any(_ends(design, {}, job, longest) is not None for job in jobs for longest in _CUT):
        more = _needed(design, jobs, said)
        for job in _jobs(design, 2 * _TRIPS):
            if (stopped := _ends(design, more, job)) is not None:
                raise _unbounded(design, stopped, said)
    _check_growth(design)
    links = tuple(replace(one, depth=_depth(design, one, more)) for one in design.links)
    return replace(design, links=links)


def _check_growth(design: Design) -> None:
    """Refuse a design of which some queue has to hold more the further an index goes. One that is
    deep hides that from short jobs: so all are as short as they can be."""
    channels = tuple(replace(one, depth=None) for one in design.program.channels)
    design = replace(design, program=replace(design.program, channels=channels))
    more = _needed(design, _jobs(design, _TRIPS), {}, _SHORTEST)
    # Before it stops, each queue of a row may be filled by an iteration.
    row = max(
        (loop.extent or 1 for one in design.program.functions for loop in one.instances), default=1
    )
    outer = [one.name for one in loops_in(design.program.function(design.program.name).body)
             if one.extent is None]  # fmt: skip
    for name in outer:
        job = {**dict.fromkeys(outer, 1), **_jobs(design, 2)[0], name: _LONG + row}
        if (stopped := _ends(design, more, job, _SHORTEST)) is not None:
            raise _unbounded(design, stopped, {})


def _needed(
    design: Design,
    jobs: list[Trips],
    said: Mapping[str, tuple[int, str]],
    longest: int | None = None,
) -> dict[str, int]:
    """Words by channel, beyond what its queues have anyway, with which all jobs go on: each as few
    as the others allow."""
    more: dict[str, int] = {}
    for job in jobs:
        more = _grown(design, job, said, more, longest)
    return _shortened(design, more, jobs, longest) if more else more


def _jobs(design: Design, trips: int) -> list[Trips]:
    """Trip counts of registers: several of the innermost loop of results and of the innermost that
    is summed over; then several of each of the others."""
    program = design.program
    result = {one for index in program.tensor(program.result).dimensions for one in index.variables}
    loops = loops_in(program.function(program.name).body)
    outer = [one.name for one in loops if one.extent is None]
    inner = [[n for n in outer if n in result][-1:], [n for n in outer if n not in result][-1:]]
    first = dict.fromkeys([name for names in inner for name in names], trips)
    return [first, *({**dict.fromkeys(inner[0], 2), n: trips} for n in outer if n not in first)]


def _shortened(
    design: Design, more: dict[str, int], jobs: list[Trips], longest: int | None
) -> dict[str, int]:
    """Each as short as the others allow."""
    found = dict(more)
    for name in found:
        # One word less is room enough, or is not.
        low, high = -1, found[name]
        while high - low > 1:
            middle = (low + high) // 2
            tried = {**found, name: middle}
            if all(_ends(design, tried, job, longest) is None for job in jobs):
                high = middle
            else:
                low = middle
        found[name] = high
    return found


def _grown(
    design: Design,
    job: Trips,
    said: Mapping[str, tuple[int, str]],
    more: dict[str, int],
    longest: int | None,
) -> dict[str, int]:
    """Words by channel, beyond what its queues have anyway, with which the design goes on: those
    that are given, and more."""
    more = dict(more)
    while (stopped := _ends(design, more, job, longest)) is not None:
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


def _unbounded(design: Design, stopped: Stopped, said: Mapping[str, tuple[int, str]]) -> ValueError:
    """Of a design that goes on in a job, and stops in a longer one."""
    if stopped.full & set(said):
        return _refused(design, stopped, said)
    names = " and ".join(sorted(stopped.full))
    return ValueError(
        f"{design.program.name} would stop: {names} would have to hold more words the further "
        f"indices go ({stopped})"
    )


def _ends(
    design: Design, more: dict[str, int], job: Trips, longest: int | None = None
) -> Stopped | None:
    """Who waits for whom, if a job does not end."""
    try:
        Network(design, lambda link, sums: _room(design, link, more, sums), job, longest).run()
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
    # A sum that leaves its ring has a register, too.
    drained = link.source.function == design.element.name and not design.element.overlaps
    usual = 1 if len(ends) == 1 or drained else 2
    if joined or _is_result(design, link):
        usual = 0
    return usual + more.get(link.channel, 0)


def _room(design: Design, link: Link, more: dict[str, int], sums: int) -> int:
    """Words that there is room for, with what its ends hold."""
    held = sums if _is_result(design, link) else 0
    return max(1, held + _depth(design, link, more))


def _is_result(design: Design, link: Link) -> bool:
    """Whether it leaves an element that has a queue of its results."""
    if not design.element.overlaps:
        return False
    return link.source.function == design.element.name != link.sink.function
