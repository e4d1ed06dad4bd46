"""Depths of channels with which a program ends whatever its bounds are.

Which transfers a function does, and in which order, does not depend on values, and on the trip
counts of registers only through conditions for the first and the last iteration. Cut the run of
every function at the iterations of these loops, into periods that carry the same numbers. Two facts
then do for all bounds:

* if in each period as many words are received from every queue as are sent to it, and each period
  ends by itself, starting with empty queues, then any sequence of them ends: run one after another.
  (Whether it ends does not depend on the order in which functions run.)
* what a period contains depends on whether an iteration is the first, the last, both or neither,
  of each loop. Trip counts of 1 and 3 have all of these.

The other way round, a run whose periods are such can end only if each of them does by itself: the
constraints among its transfers are a part of the run's. So a depth that a period needs, all longer
runs need.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from ...hw.spec.t2s.periods import period_loops, walked_loops
from ...hw.spec.t2s.program import Program
from .events import Key, Queue, Transfer, cut_runs
from .waiting import Period, cycle, told, waiting

__all__ = ["DependsOnBounds", "WaitForEver", "depths_for_any_bounds", "periods"]


class DependsOnBounds(ValueError):
    """No depth is known that does for all bounds."""


class WaitForEver(ValueError):
    """Given depths let functions wait for each other; the message has the cycle of channels.

    Members
    -------
    channels: of the cycle
    """

    def __init__(self, message: str, channels: tuple[str, ...]) -> None:
        super().__init__(message)
        self.channels = channels


def depths_for_any_bounds(program: Program) -> dict[str, int]:
    """Depths with which the program ends for all bounds, those of channels that have one kept.

    With one less of any other that is above 1 it does not, if loops have 3 iterations.

    Raises DependsOnBounds, with the channel, if iterations leave words in one; WaitForEver if the
    depths that channels have are too short.
    """
    fixed = {one.name: one.depth for one in program.channels if one.depth is not None}
    depths = {one.name: fixed.get(one.name, 1) for one in program.channels}
    found = periods(program)
    for one in found:
        while stuck := waiting(one, depths):
            full = {queue[0] for queue, sends in stuck.values() if sends} - set(fixed)
            if not full:
                names = cycle(one, stuck)
                channels = tuple(stuck[name][0][0] for name in names)
                raise WaitForEver(told(names, stuck), channels)
            shortest = min(depths[name] for name in full)
            for name in full:
                depths[name] += depths[name] == shortest
    for name in depths:
        while depths[name] > 1 and name not in fixed and _end(found, depths, name):
            depths[name] -= 1
    return depths


def _end(found: list[Period], depths: Mapping[str, int], name: str) -> bool:
    shorter = {**depths, name: depths[name] - 1}
    return not any(waiting(one, shorter) for one in found)


def periods(program: Program) -> list[Period]:
    """All that differ. Raises DependsOnBounds if one leaves words in a channel."""
    loops = period_loops(program)
    different: dict[frozenset[tuple[str, tuple[Transfer, ...]]], Period] = {}
    for trips in _trip_counts(program):
        try:
            cut = cut_runs(program, trips, loops)
        except ValueError as error:
            raise DependsOnBounds(str(error)) from error
        for key, period in cut.items():
            _check_balance(period, loops, key)
            different.setdefault(
                frozenset((name, tuple(its)) for name, its in period.items()), period
            )
    return list(different.values())


def _trip_counts(program: Program) -> Iterator[dict[str, int]]:
    """1 and 3 of each loop; 1 of those of results that all functions repeat: each is alike."""
    device = [walked_loops(one) for one in program.functions if not one.host]
    registers = dict.fromkeys(one for its in device for one in its if one.extent is None)
    counts = [
        (1,) if not loop.reduces and all(loop in its for its in device) else (1, 3)
        for loop in registers
    ]
    for trips in itertools.product(*counts):
        yield {loop.name: count for loop, count in zip(registers, trips, strict=True)}


def _check_balance(period: Period, loops: tuple[str, ...], key: Key) -> None:
    left: Counter[Queue] = Counter()
    for its in period.values():
        for queue, sends in its:
            left[queue] += 1 if sends else -1
    for (channel, _), words in left.items():
        if words:
            where = ", ".join(f"{name} = {at}" for name, at in zip(loops, key, strict=True))
            raise DependsOnBounds(f"words stay in {channel} from one iteration to another: {where}")
