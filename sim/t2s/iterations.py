"""Counts iterations of functions and the words that they move, for given bounds; nothing is run.

Of iterations that sparse tensors visit all are counted: it is as often as can be."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ...hw.spec.t2s.expressions import Load
from ...hw.spec.t2s.loops import Loop
from ...hw.spec.t2s.program import Function, Program
from ...hw.spec.t2s.statements import Body, For, If, Receive, Send, Store, Visit
from .sizes import check_bounds, trip_count

__all__ = ["iterations", "memory_words", "operations", "products"]


def iterations(function: Function, bounds: Mapping[str, int]) -> int:
    """Iterations of innermost loops, in the instance that has most.

    Where a double buffer is filled while its other half is sent, the longer of both counts.
    """
    levels = {one.level for one in function.buffers if one.double}
    instances = {one.name for one in function.instances}
    return _iterations(function.body, bounds, instances, levels)


def operations(function: Function, bounds: Mapping[str, int]) -> int:
    """Number of times that an element receives its operands."""
    return max(_receiving(function.body, bounds, {one.name for one in function.instances}))


def _receiving(body: Body, bounds: Mapping[str, int], instances: set[str]) -> list[int]:
    found = [0]
    for one in body:
        if isinstance(one, For):
            times = 1 if one.loop.name in instances else trip_count(one.loop, bounds)
            found += [times * inner for inner in _receiving(one.body, bounds, instances)]
        elif isinstance(one, Visit):
            found += _receiving(one.body, bounds, instances)
        elif isinstance(one, If):
            found += _receiving((*one.then, *one.otherwise), bounds, instances)
        elif isinstance(one, Receive):
            found.append(1)
    return found


def memory_words(program: Program, bounds: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Counts the words that the device reads and writes, by tensor or image of one, padding of
    tiles included. Raises ValueError for bounds that are not the program's."""
    check_bounds(program, bounds)
    moved: dict[str, tuple[int, int]] = {}
    for function in program.functions:
        if function.host:
            continue
        instances = prod(trip_count(one, bounds) for one in function.instances)
        for tensor, reads, writes in _moved(function.body, bounds, function.instances):
            before = moved.get(tensor, (0, 0))
            moved[tensor] = (before[0] + instances * reads, before[1] + instances * writes)
    return moved


def products(program: Program, bounds: Mapping[str, int]) -> int:
    """Number of products of all operands in the result; those of the padding do not count."""
    check_bounds(program, bounds)
    return prod(bounds.values())


def _iterations(
    body: Body, bounds: Mapping[str, int], instances: set[str], levels: set[str | None]
) -> int:
    parts = []
    for one in body:
        if isinstance(one, For):
            inner = _iterations(one.body, bounds, instances, levels)
            if one.loop.name in levels:
                inner = max(_iterations((part,), bounds, instances, levels) for part in one.body)
            spatial = one.loop.name in instances
            parts.append(inner * (1 if spatial else trip_count(one.loop, bounds)))
        elif isinstance(one, Visit):
            parts.append(_iterations(one.body, bounds, instances, levels))
        elif isinstance(one, If) and any(isinstance(part, For) for part in one.then):
            parts.append(_iterations(one.then, bounds, instances, levels))
    return sum(parts) if parts else 1


def _moved(
    body: Body, bounds: Mapping[str, int], instances: tuple[Loop, ...]
) -> list[tuple[str, int, int]]:
    found = []
    for one in body:
        if isinstance(one, For):
            times = 1 if one.loop in instances else trip_count(one.loop, bounds)
            found += [
                (tensor, times * reads, times * writes)
                for tensor, reads, writes in _moved(one.body, bounds, instances)
            ]
        elif isinstance(one, Visit):
            found += _moved(one.body, bounds, instances)
        elif isinstance(one, If):
            found += _moved((*one.then, *one.otherwise), bounds, instances)
        elif isinstance(one, Store):
            found.append((one.tensor, 0, trip_count(one.lanes, bounds) if one.lanes else 1))
        elif isinstance(one, Send) and isinstance(one.value, Load):
            lanes = one.value.lanes
            found.append((one.value.tensor, trip_count(lanes, bounds) if lanes else 1, 0))
    return found
