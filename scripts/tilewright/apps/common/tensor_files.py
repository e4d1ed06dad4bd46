"""Sparse tensors from .tns, Matrix Market and NumPy files, and to files."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.ciss import ORDERS
from ...hw.spec.host.activity import activity
from ...sim.sparse.tensor import Tensor, from_csr
from .files import ARRAYS, MARKET, kind_of, read_content, write_whole
from .matrix_files import numeric, read_matrix_file

__all__ = ["LARGEST", "SUFFIXES", "read_tensor", "write_tensor"]

# FROSTT's .tns: a line an entry, an index for each mode and a value; ``#`` begins a comment.
#
# NumPy reads all lines at once. A file that it refuses, or whose indices are out of range, is then
# read line by line, for the first line that is wrong.
#
# Source: FROSTT, the formidable repository of open sparse tensors and tools, its file formats.

_PIECE = 1 << 16
"""Lines that are looked at, or written, at once."""

_INDEX = re.compile(r"[+-]?\d+", re.ASCII)
_VALUE = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE
)


def parse_tns(
    path: Path,
    content: bytes,
    *,
    zero_based: bool,
    shape: tuple[int, ...] | None,
    largest: int,
) -> Tensor:
    """The tensor of a file's content, its entries as they come, float64.

    Parameters
    ----------
    path: for messages
    zero_based: indices count from 0
    shape: of the tensor; without it a mode is as large as its largest index says
    largest: indices that a mode may have

    Raises
    ------
    UserError that names the first line that is wrong, or that the file has no entries and no
    ``shape`` is given.
    """
    file = _Tns(path, content, zero_based, shape, largest)
    first = next(_with_words(file.text(), 1), None)
    if first is None:
        if shape is None:
            raise UserError(f"{path}: has no entries, and their number of modes is not known")
        return Tensor(shape=shape, indices=np.zeros((0, len(shape)), np.int64), values=np.zeros(0))
    order = len(first.words) - 1
    file.check_order(order, first)
    table = _table(file.text(), order)
    if table is None:
        file.check(order, first)
        raise UserError(f"{path}: not a .tns file: an index for each mode and a value a line")
    indices = np.subtract(table["indices"], file.base)
    sizes = tuple(int(size) for size in indices.max(axis=0) + 1)
    lows = indices.min(axis=0)
    limits = file.limits(order)
    values = np.ascontiguousarray(table["value"])
    outside = any(size > most for size, most in zip(sizes, limits, strict=True))
    if (lows < 0).any() or outside or np.isinf(values).any():
        file.check(order, first, from_zero=bool((lows == -1).all()))
    return Tensor(shape=shape or sizes, indices=indices, values=values)


@dataclass(frozen=True)
class _Line:
    """Words of a line with an entry, and its number in the file."""

    number: int
    words: list[str]


@dataclass(frozen=True)
class _Tns:
    path: Path
    content: bytes
    zero_based: bool
    shape: tuple[int, ...] | None
    largest: int

    @property
    def base(self) -> int:
        """The first index."""
        return 0 if self.zero_based else 1

    def limits(self, order: int) -> tuple[int, ...]:
        """Returns the largest number of indices of each mode."""
        return self.shape or (self.largest,) * order

    def text(self) -> IO[str]:
        return io.TextIOWrapper(io.BytesIO(self.content), encoding="latin-1")

    def refuse(self, line: _Line, what: str) -> UserError:
        return UserError(f"{self.path}: line {line.number}: {what}")

    def check_order(self, order: int, first: _Line) -> None:
        if not ORDERS.low <= order <= ORDERS.high:
            low, high = ORDERS.low, ORDERS.high
            raise self.refuse(
                first,
                f"must have {low + 1} to {high + 1} fields, an index for each of {low} to {high} "
                f"modes and a value, not {order + 1}",
            )
        if self.shape is not None and len(self.shape) != order:
            raise self.refuse(
                first, f"indices of {order} modes, but the shape has {len(self.shape)}"
            )

    def check(self, order: int, first: _Line, *, from_zero: bool = False) -> None:
        """Refuse the file for the first line that is wrong, if there is one.

        ``from_zero``: every mode's smallest index is 0 and should not be.
        """
        text, number = self.text(), 1
        while piece := list(islice(text, _PIECE)):
            if not self.is_right(piece, order):
                for line in _with_words(piece, number):
                    if what := self.wrong(line, order, first, from_zero):
                        raise self.refuse(line, what)
            number += len(piece)

    def is_right(self, piece: list[str], order: int) -> bool:
        """Tells whether some lines are right, as far as NumPy knows."""
        table = _table(piece, order)
        if table is None:
            return False
        indices = table["indices"] - self.base
        inside = not (indices < 0).any() and (indices < self.limits(order)).all()
        return bool(inside and not np.isinf(table["value"]).any())

    def wrong(self, line: _Line, order: int, first: _Line, from_zero: bool) -> str:
        """Describes the error in a line; empty if it is right."""
        if len(line.words) != order + 1:
            fields = f"{len(line.words)} field{'s' if len(line.words) > 1 else ''}"
            return (
                f"{fields}, but line {first.number} has {order + 1}: "
                f"an index for each of {order} modes and a value"
            )
        for mode, most in enumerate(self.limits(order)):
            word, last = line.words[mode], most - 1 + self.base
            index = int(word) if _INDEX.fullmatch(word) and len(word) < 20 else None
            if index is not None and self.base <= index <= last:
                continue
            if from_zero and index == 0:
                return (
                    f"index 0 of mode {mode + 1}: every mode's indices begin with 0, so the file "
                    "is zero-based: give --zero-based"
                )
            hint = ", or from 0 on with --zero-based" if index == 0 else ""
            return (
                f"index {_short(word)} of mode {mode + 1} must be an integer in "
                f"{self.base}..{last}{hint}"
            )
        if not _VALUE.fullmatch(line.words[-1]):
            return f"value {_short(line.words[-1])} must be a number"
        if math.isinf(float(line.words[-1])) and "inf" not in line.words[-1].lower():
            return f"value {_short(line.words[-1])} must be one that float64 reaches"
        return ""


def _with_words(lines: Iterable[str], number: int) -> Iterator[_Line]:
    """The lines with something besides a comment; ``number``: that of the first line."""
    for here, line in enumerate(lines, number):
        words = line.partition("#")[0].split()
        if words:
            yield _Line(here, words)


def _table(lines: Iterable[str], order: int) -> NDArray[Any] | None:
    """The entries of lines; None if a line is not one, or there is none."""
    entry = np.dtype([("indices", np.int64, (order,)), ("value", np.float64)])
    with warnings.catch_warnings():
        # An index with a fraction is but deprecated in NumPy 1.
        warnings.simplefilter("error")
        try:
            return np.loadtxt(lines, dtype=entry, ndmin=1)
        except (ValueError, OverflowError, Warning):
            return None


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else f"{word[:40]}...")


def write_tns(file: IO[bytes], tensor: Tensor, *, zero_based: bool = False) -> None:
    """Write a line an entry, in the tensor's order; every value is read again as it is."""
    whole = tensor.values.dtype.kind == "i"
    row = "%d " * tensor.order + ("%d\n" if whole else "%r\n")
    step = tensor.order + 1
    for begin in range(0, tensor.nnz, _PIECE):
        piece = slice(begin, begin + _PIECE)
        indices = tensor.indices[piece] + (0 if zero_based else 1)
        words: list[Any] = [None] * (len(indices) * step)
        for mode in range(tensor.order):
            words[mode::step] = indices[:, mode].tolist()
        words[tensor.order :: step] = tensor.values[piece].tolist()
        file.write((row * len(indices) % tuple(words)).encode())


LARGEST = (1 << 32) - 1
"""The most indices that a mode may have."""

SUFFIXES = (".tns", *MARKET)
"""Suffixes of files to which tensors are written."""


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
        with activity(f"reading {path.name}"):
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
