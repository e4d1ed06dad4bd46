"""Matrices, dense and sparse, from Matrix Market, .npy and .npz files and to files."""

from __future__ import annotations

import io
import math
import re
import tokenize
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.host.activity import activity
from .files import MARKET, check_array_name, kind_of, read_content, write_whole
from .limits import check_size, counted
from .market_header import (
    INTEGER_TYPES,
    VALUES,
    Header,
    Lines,
    is_count,
    quoted,
    read_header,
    unpack_market,
)
from .npz import read_npz, write_npz

__all__ = ["MOST_ENTRIES", "numeric", "read_array", "read_matrix", "read_matrix_file",
           "read_sparse", "write_array", "write_sparse"]  # fmt: skip

# Checks of a Matrix Market file before its values are used.
#
# SciPy's reader accepts a few files that contradict themselves: more values on a line than the
# header's field has, values outside the type that a ``%%GraphBLAS type`` line declares, and words
# that only begin like a number. Files are therefore checked line by line first, and read by SciPy
# afterwards. NumPy tells of most pieces of a file at once that nothing is wrong with their lines.
#
# Source: The Matrix Market Exchange Formats (NIST IR 5935); LAGraph's ``%%GraphBLAS type`` line.

_INTEGER = re.compile(r"-?[0-9]{1,4000}")
_NUMBER = re.compile(r"-?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.I | re.A)
"""Number that SciPy reads as a whole."""
_PIECE = 1 << 14
"""Lines that are looked at at once."""
_PLUS = re.compile(rb"(?<![eE])\+")
"""Plus sign that NumPy reads, and SciPy does not."""


def check_matrix_market(
    path: Path, content: bytes, check_shape: Callable[..., None] = check_size
) -> Header:
    """The header of a file's content, after checking every line of it.

    ``check_shape`` is given the path, the rows and the columns before the entries are read, and
    refuses what is too large. Raises UserError that names the file, the line, what is wrong and
    what is allowed.
    """
    source = Lines(path, iter(content.splitlines()))
    header = read_header(source)
    check_shape(path, header.rows, header.cols)
    _check_entries(source, header)
    return header


def _check_entries(source: Lines, header: Header) -> None:
    found = 0
    while piece := list(islice(source.lines, _PIECE)):
        right = _right_entries(piece, header)
        if right is None or found + right > header.entries:
            right = _check_lines(Lines(source.path, iter(piece), source.number), header, found)
        found += right
        source.number += len(piece)
    if found != header.entries:
        raise UserError(f"{source.path}: {found} entries, but the size line says {header.entries}")


def _right_entries(lines: list[bytes], header: Header) -> int | None:
    """Counts the entries of lines if all are certainly right; returns None if one may be wrong."""
    text = b"\n".join(lines)
    narrow = header.layout == "coordinate" and header.field != "complex"
    if not narrow or header.declared or not text.isascii() or _PLUS.search(text):
        return None
    fields: list[tuple[str, Any]] = [("row", np.int64), ("col", np.int64)]
    if header.field != "pattern":
        fields.append(("value", np.int64 if header.field == "integer" else np.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table = np.loadtxt(io.StringIO(text.decode()), dtype=fields, comments=None, ndmin=1)
        except (ValueError, OverflowError, Warning):
            return None
    right = True
    for name, size in (("row", header.rows), ("col", header.cols)):
        right &= bool(table[name].min() >= 1 and table[name].max() <= size)
    if header.symmetry == "skew-symmetric":
        right &= bool((table["row"] != table["col"]).all())
    if header.field == "integer":
        right &= bool((np.abs(table["value"] // 2) < 1 << 52).all())
    elif header.field == "real":
        right &= not np.isinf(table["value"]).any()
    return len(table) if right else None


def _check_lines(source: Lines, header: Header, found: int) -> int:
    """Checks each line and returns the number of entries; ``found``: that of the lines before."""
    before = found
    indices = 2 if header.layout == "coordinate" else 0
    width = indices + VALUES[header.field]
    bounds = INTEGER_TYPES.get(header.declared or "")
    while (line := source.next()) is not None:
        words = line.split()
        if not words:
            continue
        found += 1
        if found > header.entries:
            raise source.refuse(f"more entries than the {header.entries} of the size line")
        if len(words) != width:
            numbers = f"{width} numbers" if width > 1 else "1 number"
            kind = f"{header.layout} {header.field}"
            raise source.refuse(f"an entry of a {kind} file must be {numbers}, not {quoted(line)}")
        if indices:
            _check_index(source, words, header)
            if header.symmetry == "skew-symmetric" and int(words[0]) == int(words[1]):
                raise source.refuse(
                    f"a skew-symmetric matrix has no entries on its diagonal, not {quoted(line)}"
                )
        for word in words[indices:]:
            _check_value(source, word, header, bounds)
    return found - before


def _check_index(source: Lines, words: list[str], header: Header) -> None:
    for word, name, size in (
        (words[0], "row", header.rows),
        (words[1], "column", header.cols),
    ):
        if not is_count(word) or not 1 <= int(word) <= size:
            raise source.refuse(f"{name} index {quoted(word)} must be an integer in 1..{size}")


def _check_value(source: Lines, word: str, header: Header, bounds: tuple[int, int] | None) -> None:
    whole = header.field == "integer"
    if not (_INTEGER if whole else _NUMBER).fullmatch(word):
        kind = "an integer" if whole else "a number"
        raise source.refuse(f"value {quoted(word)} must be {kind}")
    value = int(word) if whole else float(word)
    if math.isinf(value) and "inf" not in word.lower():
        raise source.refuse(f"value {quoted(word)} must be one that float64 reaches")
    if bounds and not (bounds[0] <= value <= bounds[1] and value == int(value)):
        low, high = bounds
        raise source.refuse(
            f"value {word} must be in {low}..{high}, the range of the declared type "
            f"{header.declared}"
        )
    if whole and abs(value) > 1 << 53:
        raise source.refuse(f"value {quoted(word)} must lie within -2^53..2^53")


def refused_line(content: bytes, message: str) -> str:
    """Returns SciPy's message about a line that it cannot read, with the line."""
    found = re.match(r"Line (\d+): (.*?)\.?$", message)
    lines = content.splitlines()
    if not found or not 1 <= int(found[1]) <= len(lines):
        return message
    text = lines[int(found[1]) - 1].decode("latin-1")
    return f"line {found[1]}: {found[2]}: {quoted(text)}"


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
    """Reads a NumPy or Matrix Market file: a NumPy array, or a SciPy COO matrix of listed entries.

    ``check_shape`` is given the path and the shape of a Matrix Market file, or of a sparse matrix
    in a .npz file, before its entries are read. Raises UserError if the file cannot be read or is
    malformed.
    """
    check_array_name(path)
    with activity(f"reading {path.name}"):
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
