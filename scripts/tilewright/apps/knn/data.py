"""Points, queries and classes for ``tilewright run knn``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.files import need
from ..common.matrix_files import read_array, read_matrix

__all__ = ["Samples", "read_samples"]

Floats = NDArray[np.float64]
Classes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Points to search, and queries to search for.

    Parameters
    ----------
    name: for messages and reports
    points, queries: float64, (samples, features), finite
    labels, query_labels: the classes of the points, and those the queries should get, if known
    """

    name: str
    points: Floats
    queries: Floats
    labels: Classes | None = None
    query_labels: Classes | None = None


def read_samples(
    points: Path | None,
    queries: Path | None,
    labels: Path | None,
    query_labels: Path | None,
    count: int,
) -> Samples:
    """The samples of files, or scikit-learn's digits, of which the last ``count`` are queries.

    Raises UserError for files that do not fit together.
    """
    if points is None:
        return _digits(count)
    if queries is None:
        raise UserError(f"{points}: points need a second file with the queries")
    if query_labels and not labels:
        raise UserError("--query-labels needs --labels, the classes of the points")
    found, asked = _matrix(points), _matrix(queries)
    if found.shape[1] != asked.shape[1]:
        raise UserError(f"{queries}: must have {found.shape[1]} columns, as {points} has, "
                        f"not {asked.shape[1]}")  # fmt: skip
    return Samples(
        name=str(points),
        points=found,
        queries=asked,
        labels=_classes(labels, len(found)) if labels else None,
        query_labels=_classes(query_labels, len(asked)) if query_labels else None,
    )


def _digits(count: int) -> Samples:
    digits = need("sklearn.datasets", "scikit-learn").load_digits()
    return Samples(
        name="scikit-learn's digits",
        points=digits.data[:-count],
        queries=digits.data[-count:],
        labels=digits.target[:-count],
        query_labels=digits.target[-count:],
    )


def _matrix(path: Path) -> Floats:
    matrix = read_matrix(path)
    if np.iscomplexobj(matrix):
        raise UserError(f"{path}: holds complex numbers; features must be real")
    wrong = ~np.isfinite(matrix)
    if wrong.any():
        row, column = np.argwhere(wrong)[0] + 1
        value = matrix[row - 1, column - 1]
        raise UserError(f"{path}: row {row}, column {column} is {value}; features must be finite")
    return matrix


def _classes(path: Path, count: int) -> Classes:
    values = read_array(path)
    if values.size != count or max(values.shape) != count:
        shape = " x ".join(map(str, values.shape))
        raise UserError(f"{path}: must hold {count} classes, one a sample, not {shape} numbers")
    if np.iscomplexobj(values) or not np.array_equal(values, np.rint(values)):
        raise UserError(f"{path}: classes must be integers")
    return values.reshape(-1).astype(np.int64)
