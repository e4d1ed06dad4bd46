"""Runs sequences of transfers with queues of given depths, and tells who waits for whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from .events import Queue, Transfer

__all__ = ["Period", "cycle", "told", "waiting"]

Period = Mapping[str, Sequence[Transfer]]
"""Of each instance, what it sends (True) and receives, in order."""


def waiting(period: Period, depths: Mapping[str, int]) -> dict[str, Transfer]:
    """What instances wait for in the end, by their names; empty if all have ended.

    It does not depend on who runs first: each end of a queue has one owner.
    """
    held: defaultdict[Queue, int] = defaultdict(int)
    places = dict.fromkeys(period, 0)
    asleep: dict[tuple[Queue, bool], str] = {}
    ready = list(period)
    while ready:
        name = ready.pop()
        transfers, place = period[name], places[name]
        while place < len(transfers):
            queue, sends = transfers[place]
            if held[queue] >= depths[queue[0]] if sends else not held[queue]:
                asleep[queue, sends] = name
                break
            held[queue] += 1 if sends else -1
            place += 1
            woken = asleep.pop((queue, not sends), None)
            if woken is not None:
                ready.append(woken)
        places[name] = place
    return {
        name: period[name][place] for name, place in places.items() if place < len(period[name])
    }


def cycle(period: Period, stuck: Mapping[str, Transfer]) -> list[str]:
    """Instances that wait for each other in a cycle."""
    owners = {transfer: name for name, transfers in period.items() for transfer in transfers}
    name, seen = next(iter(stuck)), list[str]()
    while name not in seen:
        seen.append(name)
        queue, sends = stuck[name]
        other = owners.get((queue, not sends))
        if other is None or other not in stuck:
            break
        name = other
    return seen[seen.index(name) :] if name in seen else seen


def told(names: Sequence[str], stuck: Mapping[str, Transfer]) -> str:
    """What they wait for, each with its channel."""
    parts = []
    for one in names:
        (channel, at), sends = stuck[one]
        place = "".join(f"[{index}]" for index in at)
        parts.append(f"{one} waits to {'send to' if sends else 'receive from'} {channel}{place}")
    return ", ".join(parts)
