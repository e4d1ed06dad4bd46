"""The shape of a matrix in a file, without its content where that can be."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from ...errors import UserError
from ...hw.spec.host.inputs import note_content
from .files import kind_of
from .first_lines import check_first_lines
from .matrix_files import read_matrix

__all__ = ["shape_of"]


def shape_of(path: Path) -> tuple[int, int]:
    """Rows and columns of a matrix, of any size, in a file that may be read.

    Raises UserError if the file cannot be read, is malformed as far as it is looked at, or does not
    hold a matrix of at least one element.
    """
    found = check_first_lines(path, lambda *_: None) or _mapped(path)
    if found:
        note_content(path)
    rows, cols = found or _read(path)
    if not rows or not cols:
        raise UserError(f"{path}: must have at least one element, not {rows} x {cols}")
    return rows, cols


def _mapped(path: Path) -> tuple[int, int] | None:
    """Reads the shape from the header of a .npy file; None if only reading the file tells it."""
    if not path.is_file() or kind_of(path) != ".npy":
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # of old Python's files
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception:  # whatever is wrong, reading says it in one line
        return None
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        return None
    return array.shape[0], array.shape[1]


def _read(path: Path) -> tuple[int, int]:
    rows, cols = read_matrix(path).shape
    return rows, cols
