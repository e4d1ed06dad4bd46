"""A matrix by columns as it lies in memory, and what may be wrong with it there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["MatrixFault", "first_fault"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MatrixFault:
    """``error``: the name of the job's; ``column``: where."""

    error: str
    column: int


def first_fault(
    pointers: Ints, rows: Ints | None, window: int, size: int | None = None
) -> MatrixFault | None:
    """Finds the fault that the hardware reports of a square matrix, or of a part of its columns.

    Ends of so many columns as a ``window`` has are looked at together, before any of their
    elements. An element is of a row that there is not, or not behind that of the one before.
    ``size``: of the matrix; None: it has no further columns.

    Parameters
    ----------
    pointers: (columns + 1,); the last one is the number of elements
    rows: (elements,); None: those of columns whose ends are right are right, too
    """
    columns = len(pointers) - 1
    begin, end = pointers[:-1], pointers[1:]
    bad = (end < begin) | (end > pointers[-1])
    bad[0] |= pointers[0] != 0
    wrong = int(np.argmax(bad)) if bad.any() else columns
    # All elements of the windows before it are looked at first.
    right = columns if wrong == columns else wrong // window * window
    if rows is not None and pointers[0] == 0:
        some = rows[: pointers[right]]
        owner = np.repeat(np.arange(right), np.diff(pointers[: right + 1]))
        far = some >= (columns if size is None else size)
        late = np.zeros(len(some), np.bool_)
        late[1:] = (owner[1:] == owner[:-1]) & (some[1:] <= some[:-1])
        if (far | late).any():
            first = int(np.argmax(far | late))
            return MatrixFault("index" if far[first] else "unsorted", int(owner[first]))
    return None if wrong == columns else MatrixFault("pointers", wrong)
