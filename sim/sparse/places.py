"""Sparse matrices by place: ``{(row, column): pattern}``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...hw.spec.c2sr import C2srLayout
from .c2sr import C2sr, CsrPatterns, from_patterns, starts_of

__all__ = ["Places", "from_places", "to_places"]

Places = Mapping[tuple[int, int], int]


def from_places(places: Places, shape: tuple[int, int], layout: C2srLayout) -> C2sr:
    """The matrix in C2SR. Raises ValueError as :class:`C2sr`."""
    order = sorted(places)
    rows = np.array([row for row, _ in order], np.int64)
    starts = starts_of(np.bincount(rows, minlength=shape[0]).astype(np.int64))
    columns = np.array([column for _, column in order], np.int64)
    values = np.array([places[place] for place in order], np.uint64)
    return from_patterns(CsrPatterns(starts, columns, values), shape, layout)


def to_places(matrix: C2sr) -> dict[tuple[int, int], int]:
    """The reverse."""
    starts, columns, values = matrix.patterns()
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(starts))
    places = zip(rows.tolist(), columns.tolist(), strict=True)
    return dict(zip(places, values.tolist(), strict=True))
