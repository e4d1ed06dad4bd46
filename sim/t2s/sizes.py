"""Counts iterations of functions and the words that they move, for given bounds; nothing is run.

Of iterations that sparse tensors visit all are counted: it is as often as can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.t2s.loops import Affine, Loop
from ...hw.spec.t2s.program import Function, Program
from ...hw.spec.t2s.statements import Body, For, If, Load, Receive, Send, Store, Visit

Numbers = npt.NDArray[np.int64]

_ABSORBED = ("mma", "minmax", "maxmin", "orand")
"""Semirings on which a product with a padded word changes no sum, whatever the other word is."""

_WITH_INFINITIES = ("minplus", "maxplus")
"""Semirings on which this holds as long as numbers have infinities."""


def check_bounds(program: Program, bounds: Mapping[str, int]) -> None:
    """Refuse bounds that are not of the program's indices, or not integers from 1.

    Raises ValueError, TypeError for what is no integer.
    """
    for name in program.indices:
        if name not in bounds:
            raise ValueError(f"bounds must have {', '.join(program.indices)}; {name} is missing")
    for name, bound in bounds.items():
        if name not in program.indices:
            raise ValueError(f"bounds must be of {', '.join(program.indices)}, not of {name!r}")
        check_bound(name, bound)


def check_bound(name: str, bound: int) -> None:
    """Raises TypeError for a bound that is no integer, ValueError for one below 1."""
    if not isinstance(bound, int | np.integer):
        raise TypeError(f"bound of {name} must be an integer, not {bound!r}")
    if bound < 1:
        raise ValueError(f"bound of {name} must be 1 or more, not {bound}")


def check_padding(program: Program, bounds: Mapping[str, int], *, infinities: bool = True) -> None:
    """Refuse bounds that do not fill the tiles of an index that some tensors do not have, on a
    semiring on which their products with padding count.

    Parameters
    ----------
    infinities: whether words are numbers that have them, or else are integers of some bits

    Raises ValueError.
    """
    if program.semiring in _ABSORBED + (_WITH_INFINITIES if infinities else ()):
        return
    steps = {
        loop.index: loop.step
        for function in program.functions
        for loop in _loops(function.body)
        if loop.extent is None
    }
    result = {v for one in program.tensor(program.result).dimensions for v in one.variables}
    for tensor in program.tensors:
        if tensor.image or tensor.name in (program.result, program.start):
            continue
        there = {v for one in tensor.dimensions for v in one.variables}
        for index in program.indices:
            step = steps.get(index, 1)
            if index not in result and index not in there and bounds[index] % step:
                raise ValueError(
                    f"bound of {index} must be a multiple of {step} on {program.semiring}, not "
                    f"{bounds[index]}: {tensor.name} does not have the index, and products of its "
                    "words with padding would count"
                )


def trip_count(loop: Loop, bounds: Mapping[str, int]) -> int:
    """Iterations of a loop: its extent, or as many as cover the index's bound."""
    return -(-bounds[loop.index] // loop.step) if loop.extent is None else loop.extent


def shape_of(dimensions: tuple[Affine, ...], bounds: Mapping[str, int]) -> tuple[int, ...]:
    """Returns the smallest shape of a tensor that contains all values of these indices."""
    return tuple(
        one.constant + sum(by * (bounds[name] - 1) for name, by in one.terms) + 1
        for one in dimensions
    )


def walked_indices(dimensions: tuple[Affine, ...]) -> tuple[str, ...]:
    """Indices that choose a word of a tensor, in the order in which they stand."""
    return tuple(dict.fromkeys(name for one in dimensions for name in one.variables))


def index_numbers(given: Affine, extents: Mapping[str, int]) -> Numbers:
    """A sum of loops in each of their iterations, of a shape that ``extents`` broadcast to."""
    names = list(extents)
    found = np.full([1] * len(names), given.constant, np.int64)
    for name, by in given.terms:
        shape = [extents[name] if one == name else 1 for one in names]
        found = found + by * np.arange(extents[name]).reshape(shape)
    return found


def places_of(
    dimensions: tuple[Affine, ...], numbers: Mapping[str, Numbers], rank: int
) -> tuple[Numbers, ...]:
    """A tensor's places, given numbers of its indices, arrays of so many axes."""
    return tuple(
        sum(
            (by * numbers[name] for name, by in one.terms),
            np.full([1] * rank, one.constant, np.int64),
        )
        for one in dimensions
    )


def walked(
    dimensions: tuple[Affine, ...], bounds: Mapping[str, int], words: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """A tensor's words by its indices, an axis each."""
    extents = {name: bounds[name] for name in walked_indices(dimensions)}
    numbers = {name: index_numbers(Affine(((name, 1),)), extents) for name in extents}
    found = words[places_of(dimensions, numbers, len(extents))]
    return np.broadcast_to(found, tuple(extents.values()))


def _loops(body: Body) -> Iterator[Loop]:
    for one in body:
        if isinstance(one, For):
            yield one.loop
            yield from _loops(one.body)
        elif isinstance(one, If):
            yield from _loops((*one.then, *one.otherwise))


def bounds_of_shapes(
    program: Program,
    shapes: Mapping[str, tuple[int, ...]],
    given: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """The bounds with which tensors have these shapes.

    Parameters
    ----------
    shapes: of the tensors, by name
    given: bounds that are known, for indices that shapes leave open

    Raises ValueError for shapes that contradict each other, or these bounds, and for indices of
    which nothing tells the bound; TypeError for a bound that is no integer.
    """
    found: dict[str, int] = {}
    told: dict[str, str] = {}
    for name, bound in (given or {}).items():
        if name not in program.indices:
            raise ValueError(f"bounds must be of {', '.join(program.indices)}, not of {name!r}")
        check_bound(name, bound)
        found[name], told[name] = bound, "`bounds`"
    for name, shape in shapes.items():
        dimensions = len(program.tensor(name).dimensions)
        if len(shape) != dimensions:
            raise ValueError(f"{name} must have {dimensions} dimensions, not be of shape {shape}")
    left = [
        (name, place, index, shapes[name][place])
        for name in shapes
        for place, index in enumerate(program.tensor(name).dimensions)
    ]
    while True:
        ready = [one for one in left if len(_open(one[2], found)) <= 1]
        if not ready:
            break
        # A dimension of one index gives its bound before dimensions of several indices are used.
        name, place, index, size = min(ready, key=lambda one: len(one[2].terms))
        left.remove((name, place, index, size))
        unknown = _open(index, found)
        if not unknown:
            _compare(name, place, index, size, found, told)
            continue
        found[unknown[0]] = _bound(name, place, index, size, unknown[0], found)
        told[unknown[0]] = name
    missing = [name for name in program.indices if name not in found]
    if missing:
        raise ValueError(f"shapes do not tell the bound of {', '.join(missing)}; give `bounds`")
    check_bounds(program, found)
    return {name: found[name] for name in program.indices}


def _open(index: Affine, found: Mapping[str, int]) -> list[str]:
    """Indices of a dimension of which the bound is not known yet."""
    return [name for name in index.variables if name not in found]


def _bound(
    name: str, place: int, index: Affine, size: int, unknown: str, found: Mapping[str, int]
) -> int:
    """The bound of the one index that is not known."""
    terms = dict(index.terms)
    by = terms.pop(unknown)
    rest = Affine(tuple(terms.items()), index.constant)
    (others,) = shape_of((rest,), found)
    last, over = divmod(size - others, by)
    if over or (rest.terms and last < 0):
        known = ", ".join(f"{one} = {found[one]}" for one in rest.variables)
        where = f"{index}, its dimension {place}"
        raise ValueError(
            f"{name} must not have {size} places for {where}{': ' if known else ''}{known}"
        )
    return last + 1


def _compare(
    name: str,
    place: int,
    index: Affine,
    size: int,
    found: Mapping[str, int],
    told: Mapping[str, str],
) -> None:
    (wanted,) = shape_of((index,), found)
    if wanted == size:
        return
    others = dict.fromkeys(told[one] for one in index.variables)
    bounds = ", ".join(f"{one} = {found[one]}" for one in index.variables)
    raise ValueError(
        f"{name} must have {wanted} places for {index}, its dimension {place}, not {size}: "
        f"{bounds} in {' and '.join(others)}"
    )


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
