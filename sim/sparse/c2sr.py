"""Sparse matrices in C2SR, the channel-cyclic row format, from and to SciPy's CSR.

Source: MatRaptor, section on the sparse matrix format. Where things lie is ``C2srLayout``; memory
images are in ``image``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from ...hw.spec.c2sr import C2srLayout
from ...hw.spec.formats import IntFormat
from ..numbers.values import Patterns, decode
from .rounding import round_to

__all__ = [
    "C2sr",
    "CsrPatterns",
    "check_shape",
    "from_csr",
    "from_patterns",
    "run_indices",
    "starts_of",
    "to_csr",
]

Ints = npt.NDArray[np.int64]

_WORD = 1 << 32
"""Lengths and pointers are words of 32 bits."""


class CsrPatterns(NamedTuple):
    """CSR with bit patterns for values, row after row.

    ``starts``: (rows + 1,), the first entry of each row, and their number; ``columns``,
    ``values``: (entries,).
    """

    starts: Ints
    columns: Ints
    values: Patterns


@dataclass(frozen=True, kw_only=True, eq=False)
class C2sr:
    """A matrix in C2SR: columns ascend strictly within every row.

    Parameters
    ----------
    layout: channels and formats
    shape: rows and columns
    lengths: (rows,), entries of each row
    pointers: (rows,), where in its channel's array of entries each row begins. Rows of a result
        may have gaps between them; they never overlap.
    columns, values: for each channel the entries of its rows, row after row, gaps left out; values
        are patterns of the layout's format

    Raises
    ------
    ValueError if the parts do not fit each other, the layout's widths, or 32-bit pointers.
    """

    layout: C2srLayout
    shape: tuple[int, int]
    lengths: Ints
    pointers: Ints
    columns: tuple[Ints, ...]
    values: tuple[Patterns, ...]

    def __post_init__(self) -> None:
        check_shape(self.shape, self.layout)
        rows, channels = self.shape[0], self.layout.channels
        for name, array in (("lengths", self.lengths), ("pointers", self.pointers)):
            if array.shape != (rows,) or array.dtype != np.int64:
                raise ValueError(
                    f"`{name}` must be {rows} of int64, not {array.shape} {array.dtype}"
                )
            if rows and array.min() < 0:
                raise ValueError(f"`{name}` must not be negative, not {array.min()}")
        ends = self.pointers + self.lengths
        if rows and ends.max() > _WORD:
            row = int(ends.argmax())
            raise ValueError(
                f"row {row} must end within the channel's first {_WORD} entries, not at {ends[row]}"
            )
        for name, parts in (("columns", self.columns), ("values", self.values)):
            if len(parts) != channels:
                raise ValueError(f"`{name}` must be of {channels} channels, not {len(parts)}")
        for channel in range(channels):
            self._check_channel(channel)

    def _check_channel(self, channel: int) -> None:
        channels, cols = self.layout.channels, self.shape[1]
        lengths, pointers = self.lengths[channel::channels], self.pointers[channel::channels]
        columns, values = self.columns[channel], self.values[channel]
        starts = starts_of(lengths)
        for name, array in (("columns", columns), ("values", values)):
            if array.shape != (starts[-1],):
                raise ValueError(
                    f"`{name}` of channel {channel} must be {starts[-1]}, not {array.shape}"
                )
        wrong = first_wrong_column(starts, columns, cols)
        if wrong is not None:
            row, what = wrong
            raise ValueError(f"row {row * channels + channel} {what}")
        bits = self.layout.format.bits
        if len(values) and int(values.max()) >> bits:
            raise ValueError(f"`values` must be patterns of {bits} bits, not {values.max():#x}")
        filled = np.flatnonzero(lengths)
        order = filled[np.argsort(pointers[filled], kind="stable")]
        overlap = np.flatnonzero((pointers + lengths)[order[:-1]] > pointers[order[1:]])
        if len(overlap):
            first, second = (order[overlap[0] + n] * channels + channel for n in (0, 1))
            raise ValueError(f"rows {first} and {second} must not overlap in channel {channel}")

    @property
    def nnz(self) -> int:
        """Entries of the matrix."""
        return int(self.lengths.sum())

    @property
    def channel_entries(self) -> int:
        """Entries that the arrays of a channel must have room for, gaps included: the most of any
        channel."""
        ends = np.where(self.lengths > 0, self.pointers + self.lengths, 0)
        return int(ends.max(initial=0))

    def patterns(self) -> CsrPatterns:
        """The rows in order."""
        channels = self.layout.channels
        starts = starts_of(self.lengths)
        columns = np.empty(starts[-1], np.int64)
        values = np.empty(starts[-1], np.uint64)
        for channel in range(channels):
            mine = slice(channel, None, channels)
            where = run_indices(starts[:-1][mine], self.lengths[mine])
            columns[where], values[where] = self.columns[channel], self.values[channel]
        return CsrPatterns(starts, columns, values)

    def same_as(self, other: C2sr) -> bool:
        """Returns whether layout, shape, lengths, columns and values are equal, bit for bit, and so
        are the pointers of rows that are not empty."""
        if (self.layout, self.shape) != (other.layout, other.shape):
            return False
        filled = self.lengths > 0
        return (
            np.array_equal(self.lengths, other.lengths)
            and np.array_equal(self.pointers[filled], other.pointers[filled])
            and all(map(np.array_equal, self.columns, other.columns))
            and all(map(np.array_equal, self.values, other.values))
        )


def from_csr(matrix: Any, layout: C2srLayout) -> C2sr:
    """C2SR of a SciPy sparse matrix, in any of SciPy's formats; O(entries) if its rows are sorted.

    The matrix stays as it is. Entries of one place are added as SciPy adds them: in float64, or in
    int64 if both the matrix and the layout's format are of integers (truth values: or). Then values
    are rounded to the format, to nearest, ties to even; integers are taken modulo ``2**bits``.
    Zeros that are stored stay entries.

    Raises
    ------
    TypeError if it is not a sparse matrix of real numbers.
    ValueError if it does not fit the layout, or is no valid CSR matrix.
    """
    if not issparse(matrix) or matrix.ndim != 2:
        raise TypeError(f"`matrix` must be a sparse matrix of SciPy, not {type(matrix).__name__}")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"`matrix` must be of real numbers, not {matrix.dtype}")
    check_shape(matrix.shape, layout)
    kind, fmt = matrix.dtype.kind, layout.format
    if kind != "b":
        whole = kind in "iu" and isinstance(fmt, IntFormat)
        matrix = matrix.astype(np.int64 if whole else np.float64, copy=False)
    csr = csr_array(matrix)
    rows, cols = csr.shape
    starts, columns = csr.indptr.astype(np.int64), csr.indices.astype(np.int64)
    if (np.diff(starts) < 0).any() or starts[0] or starts[-1] > min(len(columns), len(csr.data)):
        raise ValueError("`matrix` must have row pointers that ascend from 0 to its entries")
    columns = columns[: starts[-1]]
    if len(columns) and (columns.min() < 0 or columns.max() >= cols):
        wrong = columns.min() if columns.min() < 0 else columns.max()
        raise ValueError(f"`matrix` must have columns in 0..{cols - 1}, not {wrong}")
    data = csr.data[: len(columns)]
    if first_wrong_column(starts, columns, cols) is not None:
        # SciPy sorts and adds in place and trusts a matrix's old flags: give it a new one.
        csr = csr_array((data.copy(), columns, starts), shape=(rows, cols))
        csr.sum_duplicates()
        starts, columns = csr.indptr.astype(np.int64), csr.indices.astype(np.int64)
        data = csr.data
    return from_patterns(CsrPatterns(starts, columns, round_to(data, fmt)), (rows, cols), layout)


def to_csr(c2sr: C2sr) -> csr_array:
    """The SciPy matrix: float64, int32 or, for narrower formats, float32, which hold every
    value; stored zeros stay. Columns ascend in every row."""
    starts, columns, values = c2sr.patterns()
    fmt = c2sr.layout.format
    dtype = np.int32 if isinstance(fmt, IntFormat) else np.float32 if fmt.bits <= 32 else np.float64
    with np.errstate(invalid="ignore"):
        data = decode(values, fmt).astype(dtype)
    return csr_array((data, columns, starts), shape=c2sr.shape)


def from_patterns(
    rows: CsrPatterns,
    shape: tuple[int, int],
    layout: C2srLayout,
    *,
    pointers: Ints | None = None,
) -> C2sr:
    """C2SR of rows whose columns ascend strictly; without ``pointers`` they lie without gaps.

    Raises ValueError as ``C2sr`` does.
    """
    channels = layout.channels
    lengths = np.diff(rows.starts)
    packed = np.zeros(shape[0], np.int64)
    columns, values = [], []
    for channel in range(channels):
        mine = slice(channel, None, channels)
        where = run_indices(rows.starts[:-1][mine], lengths[mine])
        columns.append(rows.columns[where])
        values.append(rows.values[where])
        packed[mine] = starts_of(lengths[mine])[:-1]
    return C2sr(
        layout=layout,
        shape=(int(shape[0]), int(shape[1])),
        lengths=lengths,
        pointers=packed if pointers is None else pointers,
        columns=tuple(columns),
        values=tuple(values),
    )


def starts_of(lengths: Ints) -> Ints:
    """Returns the starts of consecutive runs, followed by the end of the last one."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def run_indices(starts: Ints, lengths: Ints) -> Ints:
    """``start, start + 1, ...``, ``length`` of them, of each run, one run after the other."""
    before = starts_of(lengths)
    return np.repeat(starts - before[:-1], lengths) + np.arange(before[-1])


def check_shape(shape: tuple[int, int], layout: C2srLayout) -> None:
    """Raise ValueError if rows or columns do not fit the layout's width of a number."""
    largest = min(1 << layout.index_bits, _WORD - 1)
    for name, count in zip(("rows", "cols"), shape, strict=True):
        if not 0 <= count <= largest:
            raise ValueError(
                f"`{name}` must be at most {largest} with {layout.index_bits} bits, not {count}"
            )


def first_wrong_column(starts: Ints, columns: Ints, cols: int) -> tuple[int, str] | None:
    """The first row whose columns do not ascend strictly in ``0..cols - 1``, and what it does."""
    if not len(columns):
        return None
    inside = (columns >= 0) & (columns < cols)
    if not inside.all():
        place = int(np.argmin(inside))
        what = f"must have columns in 0..{cols - 1}, not {columns[place]}"
    else:
        ascends = columns[1:] > columns[:-1]
        edges = starts[(starts > 0) & (starts < len(columns))]
        ascends[edges - 1] = True
        if ascends.all():
            return None
        place = int(np.argmin(ascends)) + 1
        what = f"must have ascending columns, not {columns[place]} after {columns[place - 1]}"
    return int(np.searchsorted(starts, place, side="right")) - 1, what
