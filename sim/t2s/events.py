"""What functions send and receive, in which order, without any values: it depends on none."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...hw.spec.t2s.affine import Affine
from ...hw.spec.t2s.periods import element_loops, functions_behind, walked_loops
from ...hw.spec.t2s.program import Function, Program
from ...hw.spec.t2s.statements import Body, For, If, Receive, Send

__all__ = ["Key", "Queue", "Transfer", "cut_runs"]

Queue = tuple[str, tuple[int, ...]]
Transfer = tuple[Queue, bool]
"""The queue, a channel and the place in its array; and whether something is sent to it."""
Key = tuple[int, ...]
"""Iterations of the loops that cut a run into periods."""


def cut_runs(
    program: Program, trips: Mapping[str, int], periods: Sequence[str]
) -> dict[Key, dict[str, list[Transfer]]]:
    """What each instance of a function on the device does in each period, by their names.

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
