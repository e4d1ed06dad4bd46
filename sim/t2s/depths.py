"""Depths of channels with which a program ends, found by running it.

What functions wait for does not depend on values. So a run with queues that are too short stops,
and the queues that are full then are the ones that may be too short (T. M. Parks, "Bounded
scheduling of process networks", 1995).
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...hw.spec.t2s.loops import Affine
from ...hw.spec.t2s.periods import element_loops, functions_behind, period_loops, walked_loops
from ...hw.spec.t2s.program import Function, Program
from ...hw.spec.t2s.statements import Body, For, If, Receive, Send
from .interpreter import Deadlock, interpret
from .sizes import shape_of

# Depths of channels with which a program ends whatever its bounds are.
#
# Which transfers a function does, and in which order, does not depend on values, and on the trip
# counts of registers only through conditions for the first and the last iteration. Cut the run of
# every function at the iterations of these loops, into periods that carry the same numbers. Two
# facts then do for all bounds:
#
# * if in each period as many words are received from every queue as are sent to it, and each
#   period ends by itself, starting with empty queues, then any sequence of them ends: run one
#   after another. (Whether it ends does not depend on the order in which functions run.)
# * what a period contains depends on whether an iteration is the first, the last, both or neither,
#   of each loop. Trip counts of 1 and 3 have all of these.
#
# The other way round, a run whose periods are such can end only if each of them does by itself:
# the constraints among its transfers are a part of the run's. So a depth that a period needs, all
# longer runs need.

Queue = tuple[str, tuple[int, ...]]
Transfer = tuple[Queue, bool]
"""The queue, a channel and the place in its array; and whether something is sent to it."""
Key = tuple[int, ...]
"""Iterations of the loops that cut a run into periods."""


def cut_runs(
    program: Program, trips: Mapping[str, int], periods: Sequence[str]
) -> dict[Key, dict[str, list[Transfer]]]:
    """Cuts the transfers of each instance of a function on the device into periods, by their names.

    Parameters
    ----------
    trips: iterations of the loops whose trip counts are registers'
    periods: loops, in each iteration of which there is one. A function that does without one brings
        words before its first iteration, or takes them after its last

    Raises ValueError if a function goes back to an earlier period.
    """
    found: defaultdict[Key, dict[str, list[Transfer]]] = defaultdict(dict)
    known: dict[Transfer, Transfer] = {}
    extents = {one.name: trips.get(one.name, one.extent or 1) for one in element_loops(program)}
    behind = functions_behind(program)
    for function in program.functions:
        if function.host:
            continue
        lacking = {one: extents[one] - 1 if function.name in behind else 0 for one in periods}
        scope: dict[str, Any] = {}
        exec(compile(_text(function, trips, lacking), function.name, "exec"), scope)
        spans = [range(one.extent or 1) for one in function.instances]
        for place in itertools.product(*spans):
            name = function.name + "".join(f"[{one}]" for one in place)
            before: Key = ()
            for key, transfer in scope["run"](*place):
                if key != before:
                    if key < before:
                        told = ", ".join(periods)
                        raise ValueError(f"{name} goes through {told} in another order")
                    before, its = key, found[key].setdefault(name, [])
                its.append(known.setdefault(transfer, transfer))
    return found


def _text(function: Function, trips: Mapping[str, int], lacking: Mapping[str, int]) -> str:
    instances = {one.name for one in function.instances}
    lines = [f"def run({', '.join(f'v_{one.name}' for one in function.instances)}):"]
    lasts = {one.name for one in walked_loops(function) if one.extent is None}
    lines += [f"    v_last_{name} = {trips[name] - 1}" for name in sorted(lasts)]
    keys = {
        name: f"v_{name}" if name in instances else str(place) for name, place in lacking.items()
    }
    lines += _lines(function.body, instances, trips, keys, 1)
    return "\n".join([*lines, "    return", "    yield"])


def _lines(
    body: Body, instances: set[str], trips: Mapping[str, int], keys: dict[str, str], depth: int
) -> Iterator[str]:
    indent = "    " * depth
    if not body:
        yield f"{indent}pass"
    for one in body:
        if isinstance(one, For):
            name = one.loop.name
            if name in instances:
                yield from _lines(one.body, instances, trips, keys, depth)
                continue
            if one.first is None:
                extent = one.loop.extent
                span = str(trips[name] if extent is None else extent)
            else:
                span = f"{_sum(one.first)}, {_sum(one.last or Affine())} + 1"
            own = name if name in keys else name.removesuffix("_t")
            inner = {**keys, own: f"v_{name}"} if own in keys else keys
            yield f"{indent}for v_{name} in range({span}):"
            yield from _lines(one.body, instances, trips, inner, depth + 1)
        elif isinstance(one, If):
            yield f"{indent}if {_sum(one.condition.left)} == {_sum(one.condition.right)}:"
            yield from _lines(one.then, instances, trips, keys, depth + 1)
            yield f"{indent}else:"
            yield from _lines(one.otherwise, instances, trips, keys, depth + 1)
        elif isinstance(one, Receive | Send):
            key = "".join(f"{value}, " for value in keys.values())
            at = "".join(f"{_sum(index)}, " for index in one.at)
            transfer = f"(({one.channel!r}, ({at})), {isinstance(one, Send)})"
            yield f"{indent}yield ({key}), {transfer}"
        else:
            yield f"{indent}pass"


def _sum(given: Affine) -> str:
    terms = [f"{by} * v_{name}" for name, by in given.terms]
    return " + ".join([*terms, str(given.constant)])


Period = Mapping[str, Sequence[Transfer]]
"""Transfers of each instance in order: sends (True) and receives."""


def waiting(period: Period, depths: Mapping[str, int]) -> dict[str, Transfer]:
    """Returns the transfers for which instances wait in the end, by name; empty if all have ended.

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
    """Describes the transfers for which instances wait, each with its channel."""
    parts = []
    for one in names:
        (channel, at), sends = stuck[one]
        place = "".join(f"[{index}]" for index in at)
        parts.append(f"{one} waits to {'send to' if sends else 'receive from'} {channel}{place}")
    return ", ".join(parts)


class DependsOnBounds(ValueError):
    """Raised if no depth is known that suffices for all bounds."""


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
    """Returns all different periods. Raises DependsOnBounds if one leaves words in a channel."""
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


def needed_depths(program: Program, bounds: Mapping[str, int], least: int = 1) -> dict[str, int]:
    """Finds depths with which the program ends for these bounds; with one less of any above
    ``least`` it does not. Depths that the program gives are not changed.

    Each time that all wait, the shortest of the queues that are full are made one longer; in the
    end each is made as short as the others allow, in the order of the program.

    Raises Deadlock if functions wait although no queue is full that may be longer.
    """
    free = [one.name for one in program.channels if not one.depth]
    depths = {one.name: one.depth or least for one in program.channels}
    while True:
        try:
            run_empty(program, bounds, depths)
        except Deadlock as deadlock:
            full = deadlock.full.intersection(free)
            if not full:
                raise
            shortest = min(depths[name] for name in full)
            for name in full:
                depths[name] += depths[name] == shortest
        else:
            break
    for name in free:
        while depths[name] > least and _ends(program, bounds, {**depths, name: depths[name] - 1}):
            depths[name] -= 1
    return depths


def _ends(program: Program, bounds: Mapping[str, int], depths: Mapping[str, int]) -> bool:
    try:
        run_empty(program, bounds, depths)
    except Deadlock:
        return False
    return True


def run_empty(program: Program, bounds: Mapping[str, int], depths: Mapping[str, int]) -> None:
    """Run on tensors of zeros, for what waits for what. Raises Deadlock."""
    operands = {
        one.name: np.zeros(shape_of(one.dimensions, bounds), dtype=object)
        for one in program.tensors
        if not one.image and one.name != program.result
    }
    interpret(program, bounds, operands, depths)
