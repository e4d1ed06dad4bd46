"""Whether what is read again by rows is what came by columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....hw.spec.sida import DELAY
from ...numbers.values import Patterns
from ..result.products import Columns

__all__ = ["StoredRows", "disagreement"]


@dataclass(frozen=True)
class StoredRows:
    """A matrix by rows as it lies in memory: ``pointers`` to where each row begins, which ascend,
    ``columns`` and ``values`` of the elements."""

    pointers: npt.NDArray[np.int64]
    columns: npt.NDArray[np.integer]
    values: Patterns


def disagreement(
    matrix: Columns, rows: StoredRows, asked: npt.NDArray[np.integer], step: int
) -> int | None:
    """The first row of the first panel that was read again and is not what it is by columns.

    Parameters
    ----------
    matrix: by columns
    asked: of each panel the pass in which it was first read again, from 1; 0: it never was
    step: rows of a panel
    """
    late = np.flatnonzero(matrix.late(step))
    late = late[np.argsort(matrix.rows[late], kind="stable")]
    ends = np.searchsorted(matrix.rows[late], step * np.arange(len(asked) + 1))
    owners = np.repeat(np.arange(matrix.size), np.diff(rows.pointers))
    panels = np.flatnonzero(asked)
    for panel in panels[np.argsort(asked[panels], kind="stable")].tolist():
        first, end = panel * step, min((panel + 1) * step, matrix.size)
        mine = late[ends[panel] : ends[panel + 1]]
        read = np.arange(rows.pointers[first], rows.pointers[end])
        read = read[rows.columns[read] < (panel + DELAY) * step]
        pairs = (
            (matrix.rows[mine], owners[read - rows.pointers[0]]),
            (matrix.columns[mine], rows.columns[read]),
            (matrix.values[mine], rows.values[read]),
        )
        if not all(np.array_equal(one, other) for one, other in pairs):
            return int(first)
    return None
