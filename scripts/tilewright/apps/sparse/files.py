"""Sparse matrices from Matrix Market and .npy files and to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import UserError
from ..common.files import kind_of, write_whole
from ..common.matrix_files import numeric, read_matrix_file

__all__ = ["MOST_ENTRIES", "read_sparse", "write_sparse"]

MOST_ENTRIES = 1 << 27
"""Entries of the largest matrix."""


def read_sparse(path: Path, check_shape: Callable[..., None]) -> Any:
    """A sparse matrix of real numbers as SciPy CSR, float64, its columns ascending.

    Every entry that a Matrix Market file lists is one, zeros too; of a dense matrix those that are
    not zero are. Entries of the same place are added. A pattern's values are 1.

    Raises UserError if the file cannot be read, is malformed or holds complex numbers;
    ``check_shape`` is given the path, the rows and the columns, before entries are read.
    """
    matrix = read_matrix_file(path, check_shape)
    if matrix.dtype.kind == "c":
        raise UserError(f"{path}: holds complex numbers; values must be real")
    entries: Any
    if isinstance(matrix, np.ndarray):
        if matrix.ndim != 2:
            raise UserError(f"{path}: must hold a matrix (2 dimensions), not {matrix.ndim}")
        check_shape(path, *matrix.shape)
        entries = numeric(matrix, path)
    else:
        entries = numeric(matrix.data, path, empty=True), (matrix.row, matrix.col)
    from scipy.sparse import csr_array

    found = csr_array(entries, shape=matrix.shape)
    if found.nnz > MOST_ENTRIES:
        raise UserError(f"{path}: {found.nnz} entries are too many; at most {MOST_ENTRIES}")
    found.sum_duplicates()
    return found


def write_sparse(path: Path, matrix: Any) -> None:
    """Write the entries of a matrix: as SciPy's ``save_npz`` does if the name ends in .npz, else as
    Matrix Market coordinates."""
    if kind_of(path) == ".npz":
        from scipy.sparse import save_npz

        write_whole(path, lambda file: save_npz(file, matrix))
        return
    from scipy.io import mmwrite

    digits = {"f": {4: 9, 8: 17}}.get(matrix.dtype.kind, {}).get(matrix.dtype.itemsize)
    whole = matrix.tocoo()
    write_whole(path, lambda file: mmwrite(file, whole, precision=digits, symmetry="general"))
