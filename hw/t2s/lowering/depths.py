"""How many words the queues of a design hold, so that it never stops, whatever trip counts are.

Each has a register, or two where `ready` is cut, too. Where functions would wait for each other in
one of the periods of a run, queues that are full then are made longer (T. M. Parks, "Bounded
scheduling of process networks", 1995), all of a channel alike; in the end each is made as short as
the others allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...spec.t2s.design import Design
from .periods import Period, periods
from .queues import Queues, depth_of
from .words_through import Stopped, run

__all__ = ["with_depths"]

Said = Mapping[str, tuple[int, str]]
"""Depths that the mapping gives, with places, by channel."""


def with_depths(design: Design, said: Said) -> Design:
    """The design with depths of its queues, those of channels that are ``said`` kept.

    Raises ValueError for a design that would stop, or for which no depths are known that are enough
    for all trip counts of registers.
    """
    queues = Queues(design)
    found = _Depths(design, queues, periods(design, queues), said)
    more = found.shortened(found.grown())
    links = tuple(replace(one, depth=depth_of(design, one, more)) for one in design.links)
    return replace(design, links=links)


class _Depths:
    """Words by channel, beyond what its queues have anyway, with which runs end."""

    def __init__(self, design: Design, queues: Queues, runs: Sequence[Period], said: Said) -> None:
        self._design, self._queues, self._runs, self._said = design, queues, list(runs), said

    def grown(self) -> dict[str, int]:
        """As many as do. Raises ValueError if there are none."""
        more: dict[str, int] = {}
        while (stopped := self._stopped(more)) is not None:
            full = [name for name in sorted(stopped.full) if name not in self._said]
            if not full:
                raise self._refused(stopped)
            shortest = min(more.get(name, 0) for name in full)
            for name in full:
                if more.get(name, 0) == shortest:
                    more[name] = max(1, 2 * shortest)
        return more

    def shortened(self, more: Mapping[str, int]) -> dict[str, int]:
        """Each as short as the others allow."""
        found = dict(more)
        for name in found:
            # One word less is room enough, or is not.
            low, high = -1, found[name]
            while high - low > 1:
                middle = (low + high) // 2
                if self._stopped({**found, name: middle}) is None:
                    high = middle
                else:
                    low = middle
            found[name] = high
        return found

    def _stopped(self, more: Mapping[str, int]) -> Stopped | None:
        """Who waits for whom, if a run does not end."""
        rooms = self._queues.rooms(more)
        for number, one in enumerate(self._runs):
            try:
                run(one, self._queues, rooms)
            except Stopped as stopped:
                # What has stopped once may well stop again.
                self._runs.insert(0, self._runs.pop(number))
                return stopped
        return None

    def _refused(self, stopped: Stopped) -> ValueError:
        """Of a design that stops, whatever other queues hold."""
        for name in sorted(stopped.full & set(self._said)):
            depth, place = self._said[name]
            return ValueError(f"{place}: {name}.fifo: with a depth of {depth} the design stops")
        name = self._design.program.name
        return ValueError(f"{name} would stop, whatever queues hold: {stopped}")
