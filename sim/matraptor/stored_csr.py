"""Reads matrices in CSR from a device's memory as the hardware does, whatever is in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.c2sr import POINTER_BYTES, C2srLayout
from ..sparse.c2sr import run_indices, starts_of
from ..sparse.image import StoredRows, entry_type
from ..sparse.memory_blocks import Read, read_bytes

__all__ = ["StoredCsr", "stored_csr"]

Ints = npt.NDArray[np.int64]


class StoredCsr(NamedTuple):
    """A matrix in CSR in memory.

    ``rows``: as if they were in C2SR without gaps; ``starts``: the pointers of all rows but the
    end of the last one; ``descending``: rows that end before they begin, which have no entries.
    """

    rows: StoredRows
    starts: Ints
    descending: npt.NDArray[np.bool_]


def stored_csr(
    read: Read, layout: C2srLayout, rows: int, *, pairs_base: int, entries_base: int
) -> StoredCsr:
    """The matrix whose pointers are at ``pairs_base``; columns are not checked.

    Raises IndexError as ``read`` does.
    """
    words = read_bytes(read, pairs_base, POINTER_BYTES * (rows + 1)).view("<u4").astype(np.int64)
    lengths, starts = np.diff(words), words[:-1]
    descending = lengths < 0
    lengths = np.maximum(lengths, 0)
    filled = lengths > 0
    first = int(starts[filled].min(initial=words.max()))
    end = int((starts + lengths)[filled].max(initial=first))
    size = layout.entry_bytes
    entries = read_bytes(read, entries_base + first * size, (end - first) * size)
    entries = entries.view(entry_type(layout))
    pointers, columns, values = np.zeros(rows, np.int64), [], []
    for channel in range(layout.channels):
        mine = slice(channel, None, layout.channels)
        pointers[mine] = starts_of(lengths[mine])[:-1]
        found = entries[run_indices(np.where(filled, starts - first, 0)[mine], lengths[mine])]
        columns.append(found["column"].astype(np.int64))
        values.append(found["value"].astype(np.uint64))
    return StoredCsr(
        StoredRows(lengths, pointers, tuple(columns), tuple(values)), starts, descending
    )
