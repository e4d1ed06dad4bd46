"""Builds the images of a job: matrix by columns and by rows, vectors, scalars, program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...hw.spec.elementwise.instructions import SCALARS
from ...hw.spec.elementwise.program import Program, words_of
from ...hw.spec.formats import Format
from ...hw.spec.sida import SidaConfig
from ..numbers.container_words import to_bytes
from ..numbers.values import Patterns
from .result.products import Columns

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


ROWS = ("late", "whole")
"""Elements of a matrix that are stored by rows: the late ones, which are all that is read there, or
all."""


def late_step(config: SidaConfig, rows: str) -> int | None:
    """Returns ``late`` of ``matrix_images`` for such rows. Raises ValueError if not in ``ROWS``."""
    if rows not in ROWS:
        raise ValueError(f"`rows` must be one of {', '.join(ROWS)}, not {rows}")
    return config.subtensor if rows == "late" else None


def matrix_images(matrix: Columns, fmt: Format, late: int | None = None) -> dict[str, bytes]:
    """Both arrangements, by the names of their registers.

    ``late``: by rows there are only elements that are late with steps of so many columns.
    """
    kept = np.arange(len(matrix.rows)) if late is None else np.flatnonzero(matrix.late(late))
    order = kept[np.argsort(matrix.rows[kept], kind="stable")]
    ends = np.searchsorted(matrix.rows[order], np.arange(matrix.size + 1))
    return {
        "column_pointers": _indices(matrix.pointers),
        "row_numbers": _indices(matrix.rows),
        "column_values": to_bytes(matrix.values, fmt),
        "row_pointers": _indices(ends),
        "column_numbers": _indices(matrix.columns[order]),
        "row_values": to_bytes(matrix.values[order], fmt),
    }


def program_words(program: Program, *, second: bool = True) -> tuple[list[int], int]:
    """Returns the words of E1, followed by those of E2 if there is a second product, and the start
    of E2."""
    first = words_of(program.e1)
    return first + (words_of(program.e2) if second else []), len(first) if second else 0


def job_images(
    matrix: Columns,
    x: Patterns,
    scalars: Sequence[int],
    words: Sequence[int],
    vectors: Mapping[int, Patterns],
    fmt: Format,
    late: int | None = None,
) -> dict[str, bytes]:
    """Returns all images of a job, by the names of their registers.

    Parameters
    ----------
    x: (size,) or (size, 1) patterns, as are ``vectors``, by number
    scalars: patterns, at most ``SCALARS``; what is missing is 0
    words: of the program
    late: see :func:`matrix_images`
    """
    return {
        **matrix_images(matrix, fmt, late),
        "x": to_bytes(x, fmt),
        "scalars": scalars_image(scalars, fmt),
        "program_base": program_image(words),
        **{f"vector_{n}": to_bytes(patterns, fmt) for n, patterns in vectors.items()},
    }


def spilled_bytes(config: SidaConfig, size: int) -> dict[str, int]:
    """Bytes of memory for the vectors that a job spills, by register, for a matrix of ``size``
    rows. It is empty where the vectors are on chip."""
    if not config.windowed:
        return {}
    elements = size * config.format.bits // 8
    rows_of_w = -(-size // config.pes)
    return {"x_spill": elements, "z_spill": elements, "w_spill": rows_of_w * config.piece_bytes}


def scalars_image(scalars: Sequence[int], fmt: Format) -> bytes:
    """Returns the image of all scalars; those after the given ones are 0."""
    every = np.zeros(SCALARS, np.uint64)
    every[: len(scalars)] = scalars
    return to_bytes(every, fmt)


def program_image(words: Sequence[int]) -> bytes:
    """A program's words."""
    return _indices(np.array(words))


def _indices(numbers: object) -> bytes:
    return np.asarray(numbers).astype("<u4").tobytes()
