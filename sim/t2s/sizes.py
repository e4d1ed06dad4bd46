"""Derives the sizes of loops and tensors from bounds; checks that padding may fill the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.t2s.affine import Affine
from ...hw.spec.t2s.loops import Loop
from ...hw.spec.t2s.program import Program
from ...hw.spec.t2s.statements import Body, For, If

__all__ = [
    "check_bound",
    "check_bounds",
    "check_padding",
    "index_numbers",
    "places_of",
    "shape_of",
    "trip_count",
    "walked",
    "walked_indices",
]

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
