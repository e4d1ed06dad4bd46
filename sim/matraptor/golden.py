"""MatRaptor's products of sparse matrices that are given by place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...hw.spec.c2sr import C2srLayout
from ...hw.spec.matraptor import MatRaptorConfig
from ..sparse.c2sr import C2sr, CsrPatterns, from_patterns, starts_of
from .result.outer import by_columns, outer_product
from .result.rows import spgemm

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


def golden(
    config: MatRaptorConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One job, which must fit the queues: a, b to c; see :class:`tilewright.registry.Entry`."""
    m, n, k = (sizes[name] for name in "MNK")
    a = from_places(operands["a"], (m, k), config.layout)
    b = from_places(operands["b"], (k, n), config.layout)
    if operation == "outer":
        found = outer_product(config, by_columns(config, a), b, m)
    else:
        found = spgemm(config, a, b)
    if found.c is None:
        raise ValueError(f"the product does not fit the queues: {found.overflow}")
    return {"c": to_places(found.c)}
