"""Sparse matrices in memory as the page has them: CSR and C2SR, with fp32 and 32-bit columns."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["C2sr", "Csr", "Rows", "rows_of"]

Memory = npt.NDArray[np.uint8]
Row = list[tuple[int, float]]
Rows = list[Row]
"""Each row's columns, ascending, and values."""

_PAIR = np.dtype([("length", "<u4"), ("pointer", "<u4")])
_ENTRY = np.dtype([("value", "<f4"), ("column", "<u4")])


def rows_of(dense: npt.NDArray[Any]) -> Rows:
    """Return the elements of a dense matrix that are not zero."""
    return [[(int(column), float(row[column])) for column in np.flatnonzero(row)] for row in dense]


def _entries(row: Row) -> Memory:
    entries = np.array([(value, column) for column, value in row], _ENTRY)
    return entries.view(np.uint8)


def _row(content: Memory) -> Row:
    entries = np.ascontiguousarray(content).view(_ENTRY)
    return [(int(entry["column"]), float(entry["value"])) for entry in entries]


class Csr:
    """A matrix in plain CSR, flat in memory."""

    def __init__(self, memory: Memory, pointers: int, entries: int) -> None:
        self.memory, self.pointers, self.entries = memory, pointers, entries

    def put(self, rows: Rows) -> None:
        """Write where each row begins, and where the last one ends; then all entries."""
        starts = np.cumsum([0, *map(len, rows)]).astype("<u4").view(np.uint8)
        self.memory[self.pointers :][: len(starts)] = starts
        content = _entries([entry for row in rows for entry in row])
        self.memory[self.entries :][: len(content)] = content

    def get(self, count: int) -> Rows:
        """Return the first rows."""
        starts = np.array(self.memory[self.pointers :][: 4 * count + 4]).view("<u4").tolist()
        return [
            _row(self.memory[self.entries + 8 * begin : self.entries + 8 * end])
            for begin, end in pairwise(starts)
        ]


class C2sr:
    """A matrix in C2SR.

    Parameters
    ----------
    placement: the operand's in the sidecar
    """

    def __init__(self, memory: Memory, placement: dict[str, Any], pairs: int, entries: int) -> None:
        self.memory, self.pairs, self.entries = memory, pairs, entries
        self.channels, self.block = placement["channels"], placement["interleave"]

    def addresses(self, base: int, channel: int, first: int, count: int) -> npt.NDArray[np.int64]:
        """Return where bytes of an array in a channel are."""
        x = np.arange(first, first + count)
        return base + (x // self.block * self.channels + channel) * self.block + x % self.block

    def put(self, rows: Rows) -> None:
        """Write pairs and entries, without gaps between rows."""
        used = [0] * self.channels
        for number, row in enumerate(rows):
            channel, place = number % self.channels, number // self.channels
            pair = np.array([(len(row), used[channel])], _PAIR).view(np.uint8)
            self.memory[self.addresses(self.pairs, channel, 8 * place, 8)] = pair
            where = self.addresses(self.entries, channel, 8 * used[channel], 8 * len(row))
            self.memory[where] = _entries(row)
            used[channel] += len(row)

    def get(self, count: int) -> Rows:
        """Return the first rows, wherever their pairs say."""
        rows = []
        for number in range(count):
            channel, place = number % self.channels, number // self.channels
            content = self.memory[self.addresses(self.pairs, channel, 8 * place, 8)]
            (pair,) = content.view(_PAIR)
            first, size = 8 * int(pair["pointer"]), 8 * int(pair["length"])
            rows.append(_row(self.memory[self.addresses(self.entries, channel, first, size)]))
        return rows
