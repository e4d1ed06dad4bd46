"""What goes through the streams of a run: rows of fields, pauses, and both as C++ has them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .payload import row_words, width_of

__all__ = [
    "Indices",
    "Pauses",
    "Port",
    "Rows",
    "RunOptions",
    "RunResult",
    "Transfers",
    "Words",
    "located",
]

Words = NDArray[np.uint32]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """A field's values: transfer ``i`` uses row ``index[i]`` of ``table``, row ``i`` without index.

    Parameters
    ----------
    table: (rows, words) uint32, C-contiguous, each row the field's bits from bit 0 on
    index: (count,) int64 or None
    """

    table: Words
    index: Indices | None = None


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """Random gaps before inputs and stalls of outputs, replayable by seed.

    Parameters
    ----------
    seed: of the generator; the same seed gives the same cycles
    gap, stall: chance in each cycle that an input waits, that an output is not ready, 0..1
    """

    seed: int = 0
    gap: float = 0.0
    stall: float = 0.0

    def __post_init__(self) -> None:
        for name in ("gap", "stall"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(
                    f"`{name}` must be at least 0 and below 1, not {getattr(self, name)}"
                )


@dataclass(frozen=True)
class RunResult:
    """What a run gave.

    Parameters
    ----------
    payloads: (outputs, words) uint32, row by row what left the output stream
    cycles: clock cycles of this run
    input_cycles, output_cycles: cycle of every transfer, on a counter that starts at reset
    """

    payloads: Words
    cycles: int
    input_cycles: NDArray[np.uint64]
    output_cycles: NDArray[np.uint64]

    @property
    def first_input_cycle(self) -> int:
        return int(self.input_cycles[0])

    @property
    def last_output_cycle(self) -> int:
        return int(self.output_cycles[-1])


class _Field(ctypes.Structure):
    _fields_ = [
        ("table", ctypes.c_void_p),
        ("index", ctypes.c_void_p),
        ("row_words", ctypes.c_uint64),
        ("offset", ctypes.c_uint32),
        ("width", ctypes.c_uint32),
    ]


class Port(ctypes.Structure):
    """A stream's part of a run, as the C++ side has it."""

    _fields_ = [
        ("count", ctypes.c_uint64),
        ("fields", ctypes.POINTER(_Field)),
        ("field_count", ctypes.c_uint64),
        ("after", ctypes.c_void_p),
        ("cycles", ctypes.c_void_p),
        ("pause", ctypes.c_uint64),
        ("done", ctypes.c_uint64),
    ]


class RunOptions(ctypes.Structure):
    """What counts for all streams; ``cycle`` goes on, ``stream`` is the one that broke a rule."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("seed", "time_out", "cycle", "stream")]


@dataclass
class Transfers:
    """One stream's part of a run; holds the arrays that the C++ side points into."""

    count: int
    rows: list[tuple[Rows, int, int]]
    after: Indices | None = None
    cycles: NDArray[np.uint64] | None = None
    pause: float = 0.0
    _kept: list[Any] = field(default_factory=list)

    def port(self) -> Port:
        fields = (_Field * len(self.rows))()
        for slot, (rows, offset, width) in zip(fields, self.rows, strict=True):
            _check_rows(rows, self.count, width)
            index = None if rows.index is None else rows.index.ctypes.data
            slot.table, slot.index = rows.table.ctypes.data, index
            slot.row_words, slot.offset, slot.width = rows.table.shape[1], offset, width
        self._kept.append(fields)
        after = None if self.after is None else self.after.ctypes.data
        cycles = None if self.cycles is None else self.cycles.ctypes.data
        pause = int(self.pause * 2**32)
        return Port(self.count, fields, len(self.rows), after, cycles, pause, 0)


def _check_rows(rows: Rows, count: int, width: int) -> None:
    table, index = rows.table, rows.index
    fits = table.ndim == 2 and table.dtype == np.uint32 and table.flags.c_contiguous
    if not fits or table.shape[1] < row_words(width):
        raise ValueError(
            f"a table must be contiguous uint32 of shape (rows, >= {row_words(width)}), "
            f"not {table.dtype} of {table.shape}"
        )
    if index is None:
        if len(table) < count:
            raise ValueError(f"a table needs {count} rows, not {len(table)}")
        return
    if index.dtype != np.int64 or index.shape != (count,) or not index.flags.c_contiguous:
        raise ValueError(f"an index must be int64 of shape ({count},), not {index.shape}")
    if count and (index.min() < 0 or index.max() >= len(table)):
        raise ValueError(f"an index must lie in 0..{len(table) - 1}")


def located(stream: Mapping[str, Any], rows: Mapping[str, Rows]) -> list[tuple[Rows, int, int]]:
    """Rows by the field's name, with its offset and width; ValueError if a stream has no such
    field."""
    known = {f["name"]: f for f in stream["fields"]}
    if set(rows) - set(known):
        raise ValueError(
            f"stream `{stream['name']}` has the fields {', '.join(known)}, not {', '.join(rows)}"
        )
    return [(value, known[n]["offset"], width_of(known[n])) for n, value in rows.items()]
