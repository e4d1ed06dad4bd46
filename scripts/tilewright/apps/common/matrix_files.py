"""Matrices, signals and pictures from files and to files; whatever is wrong gets one line."""

from __future__ import annotations

import io
import tokenize
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from .files import MARKET, check_array_name, kind_of, read_content, write_whole
from .gzipped import unpack_market
from .limits import check_size
from .matrix_market import check_matrix_market, refused_line
from .npz import read_npz, write_npz
from .words import counted

__all__ = ["numeric", "read_array", "read_matrix", "read_matrix_file", "write_array"]


def read_matrix(path: Path) -> NDArray[Any]:
    """A matrix, float64 or complex128, from a NumPy or a Matrix Market file.

    Raises UserError if the file cannot be read, is malformed or does not hold a matrix.
    """
    array = read_array(path)
    if array.ndim != 2:
        dimensions = counted(array.ndim, "dimension")
        raise UserError(f"{path}: must hold a matrix (2 dimensions), not {dimensions}")
    return array


def read_array(path: Path) -> NDArray[Any]:
    """Numbers of any shape, float64 or complex128, from a NumPy or a Matrix Market file."""
    matrix = read_matrix_file(path)
    return numeric(matrix if isinstance(matrix, np.ndarray) else matrix.toarray(), path)


def read_matrix_file(path: Path, check_shape: Callable[..., None] = check_size) -> Any:
    """What a NumPy or a Matrix Market file holds: a NumPy array, or a SciPy COO matrix if the file
    lists entries.

    ``check_shape`` is given the path and the shape of a Matrix Market file, or of a sparse matrix
    in a .npz file, before its entries are read. Raises UserError if the file cannot be read or is
    malformed.
    """
    check_array_name(path)
    content, kind = read_content(path), kind_of(path)
    if kind == ".npy":
        return _read_npy(path, content)
    if kind == ".npz":
        return read_npz(path, content, check_shape)
    if kind == ".mtx.gz":
        content = unpack_market(path, content)
    return _read_mtx(path, content, check_shape)


def _read_npy(path: Path, content: bytes) -> NDArray[Any]:
    if not content.startswith(b"\x93NUMPY"):
        raise UserError(f"{path}: not a NumPy .npy file (its first bytes are not \\x93NUMPY)")
    try:
        with warnings.catch_warnings(action="ignore"):  # of old Python's files
            array = np.load(io.BytesIO(content), allow_pickle=False)
    except (SyntaxError, tokenize.TokenError, RecursionError, TypeError):
        raise UserError(f"{path}: damaged .npy file: its header cannot be understood") from None
    except (ValueError, EOFError, OSError, MemoryError, ArithmeticError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{path}: damaged or unsupported .npy file: {reason}") from None
    return np.asarray(array)


def _read_mtx(path: Path, content: bytes, check_shape: Callable[..., None]) -> Any:
    if b"\n" not in content:  # the ends of lines of an old Mac
        content = content.replace(b"\r", b"\n")
    header = check_matrix_market(path, content, check_shape)
    # Behind the checks, which refuse a file before SciPy is there.
    from scipy.io import mmread
    from scipy.sparse import coo_matrix

    if not header.entries and header.layout == "coordinate":
        return coo_matrix((header.rows, header.cols))
    try:
        # SciPy's reader crashes behind a blank at the end of a file.
        return mmread(io.BytesIO(content.rstrip() + b"\n"))
    except (ValueError, OverflowError) as error:
        message = refused_line(content, str(error).splitlines()[0])
        raise UserError(f"{path}: {message}") from None


def numeric(array: NDArray[Any], what: object, *, empty: bool = False) -> NDArray[Any]:
    """An array as float64 or complex128, without loss; UserError otherwise, and if it has no
    element where ``empty`` is false."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "biufc" or size > (16 if kind == "c" else 8):
        allowed = "integers, float16, float32, float64, complex64 or complex128"
        raise UserError(f"{what}: must hold {allowed}, not {array.dtype}")
    if not empty:
        check_size(what, *array.shape)
    if (
        kind in "iu"
        and array.size
        and size == 8
        and max(abs(int(array.min())), int(array.max())) > 1 << 53
    ):
        raise UserError(f"{what}: integers must lie within -2^53..2^53")
    return array.astype(np.complex128 if kind == "c" else np.float64)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write a matrix as a Matrix Market array if the name ends in .mtx or .mtx.gz; any array as
    .npz if it ends so, else as .npy."""
    kind = kind_of(path)
    if kind == ".npz":
        write_whole(path, lambda file: write_npz(file, array))
        return
    if kind not in MARKET:
        write_whole(path, lambda file: np.save(file, array, allow_pickle=False))
        return
    from scipy.io import mmwrite

    wide = array.dtype in (np.float64, np.complex128)
    write_whole(path, lambda file: mmwrite(file, array, precision=17 if wide else 9))
