"""The entries of a tile's tensor that pass the rows of a Tensaurus, slice by slice."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...numbers.scalars import Patterns

__all__ = ["Entries", "of_dense", "pieces"]

Ints = npt.NDArray[np.int64]


class Entries(NamedTuple):
    """Entries in the order in which a row has them; those of a slice follow each other.

    slices: (entries,) the slice of each, ascending
    indices: (modes - 1, entries), of modes 1, 2, ...
    values: (entries,)
    """

    slices: Ints
    indices: Ints
    values: Patterns


def of_dense(values: Patterns) -> Entries:
    """All elements of a dense tensor, zeros included, slices first."""
    places = np.indices(values.shape).reshape(values.ndim, -1)
    return Entries(places[0], places[1:], values.astype(np.uint64).reshape(-1))


def pieces(entries: Entries, size: int) -> list[slice]:
    """Cuts between slices: about so many entries a piece, but for larger slices."""
    count = len(entries.slices)
    first = np.flatnonzero(np.diff(entries.slices, prepend=-1))
    marks = np.searchsorted(first, np.arange(size, count, size))
    cuts = sorted({0, count, *(int(first[mark]) for mark in marks if mark < len(first))})
    return [slice(low, high) for low, high in pairwise(cuts)]
