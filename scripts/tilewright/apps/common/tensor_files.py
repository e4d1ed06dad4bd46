"""Sparse tensors from .tns, Matrix Market and NumPy files, and to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.ciss import ORDERS
from ...sim.sparse.tensor import Tensor, from_csr
from .files import ARRAYS, MARKET, kind_of, read_content, write_whole
from .matrix_files import numeric, read_matrix_file
from .tns import parse_tns, write_tns

__all__ = ["LARGEST", "SUFFIXES", "read_tensor", "write_tensor"]

LARGEST = (1 << 32) - 1
"""The most indices that a mode may have."""

SUFFIXES = (".tns", *MARKET)
"""What tensors are written to."""


def read_tensor(
    path: Path,
    *,
    zero_based: bool = False,
    shape: tuple[int, ...] | None = None,
    largest: int = LARGEST,
) -> Tensor:
    """The tensor in a file, its entries as the file lists them; of an array those that are not
    zero. Entries of one place are meant to be added; a pattern's are 1.

    Values are int64 if a NumPy or Matrix Market file is of integers, else float64.

    Parameters
    ----------
    path: ends in .tns, .mtx, .mtx.gz, .npy or .npz
    zero_based: indices of a .tns file count from 0
    shape: of a .tns file's tensor; without it a mode is as large as its largest index says
    largest: indices that a mode may have

    Raises
    ------
    UserError if the file cannot be read or is malformed, has not 2 to 6 modes, or more indices in a
    mode than allowed; if its numbers are complex; if a .tns file has no entries and ``shape`` is
    not given.
    """
    kind = kind_of(path)
    if kind == ".tns":
        content = read_content(path)
        return parse_tns(path, content, zero_based=zero_based, shape=shape, largest=largest)
    if kind not in ARRAYS:
        allowed = ", ".join((".tns", *ARRAYS[:-1]))
        raise UserError(f"{path}: must be a {allowed} or {ARRAYS[-1]} file, not {kind!r}")

    def check_shape(what: object, *sizes: int) -> None:
        if not ORDERS.low <= len(sizes) <= ORDERS.high:
            raise UserError(
                f"{what}: must have {ORDERS.low} to {ORDERS.high} modes, not {len(sizes)}"
            )
        for mode, size in enumerate(sizes):
            if size > largest:
                raise UserError(f"{what}: mode {mode} must have at most {largest}, not {size}")

    found = read_matrix_file(path, check_shape)
    if found.dtype.kind == "c":
        raise UserError(f"{path}: holds complex numbers; values must be real")
    if not isinstance(found, np.ndarray):
        return from_csr(found)
    check_shape(path, *found.shape)
    values = _real(found, path)
    places = np.argwhere(values != 0)
    return Tensor(shape=found.shape, indices=places, values=values[tuple(places.T)])


def _real(array: NDArray[Any], path: Path) -> NDArray[Any]:
    if array.dtype.kind in "bi" or (array.dtype.kind == "u" and array.dtype.itemsize < 8):
        return array.astype(np.int64)
    return numeric(array, path, empty=True)


def write_tensor(path: Path, tensor: Tensor, *, zero_based: bool = False) -> None:
    """Write a tensor's entries, in their order: Matrix Market coordinates if the name ends in .mtx
    or .mtx.gz, else a .tns file, whose indices count from 1 unless ``zero_based`` is given.

    Every value is read again as it is; a .tns file has no shape. Raises UserError if the file
    cannot be written, or Matrix Market is asked for other than 2 modes.
    """
    if kind_of(path) not in MARKET:
        write_whole(path, lambda file: write_tns(file, tensor, zero_based=zero_based))
        return
    if tensor.order != 2:
        raise UserError(f"{path}: a Matrix Market file has 2 modes, not {tensor.order}")
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    matrix = coo_array((tensor.values, tuple(tensor.indices.T)), shape=tensor.shape)
    digits = 17 if tensor.values.dtype.kind == "f" else None
    write_whole(path, lambda file: mmwrite(file, matrix, precision=digits, symmetry="general"))
