"""State of the cycle model of the load half: fields of the machine's record."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....hw.spec.sida import INDEX_BITS, SidaConfig
from ....timing.striped.state import Bus, Reader, Writer, bus
from ..shared import fields

__all__ = ["ENTRIES", "GROUPS", "LOAD", "POINTERS", "PORTS", "PROGRAM", "READERS", "ROWS", "VALUES",
           "VECTORS", "WORD_BYTES", "memory_bus", "set_up_load"]  # fmt: skip

READERS = ("pointers", "rows", "values", "again_pointers", "again_columns", "again_values",
           "vectors", "program")  # fmt: skip
"""Of the bus, in the order of their turns."""

POINTERS, ROWS, VALUES, _, _, _, VECTORS, PROGRAM = range(len(READERS))

GROUPS = (3, 3, 1, 1)
"""Of readers, as the channels' interconnects have them: columns, rows, vectors, program."""

WORD_BYTES = 4
"""Of a pointer, an index, an instruction."""

_ENTRY_READERS = 4
"""Arrays that are read as entries: the columns' three and the program."""

ENTRIES = {POINTERS: 0, ROWS: 1, VALUES: 2, PROGRAM: 3}
"""By reader, its place in ``entries``."""

_MOST_RUNS = 257

_PORT = np.dtype(fields("accepts", "line", "last", "asks", "address", "bytes", "takes"))
_ENTRIES = np.dtype(
    [
        # The request, as `asks` says; which outputs of its fork have taken it; lines that stand
        # for those that were not read.
        *fields("asks", "address", "bytes", "count", "taken", "padding", "size"),
        # The gearbox: see there.
        *fields("level", "left", "valid", "last"),
    ]
)
_CUT = np.dtype(fields("valid", "base", "columns", "final", "begin", "end", "block"))
_RUN = np.dtype(fields("first", "final", "whole"))
_PIECE = np.dtype(fields("valid", "address", "bytes"))

PORTS = _PORT

LOAD: list[tuple[Any, ...]] = [
    # The configuration and the job.
    *fields("line_bytes", "value_bytes", "value_shift", "outstanding"),
    *fields("column_pointers", "row_numbers", "column_values", "x", "scalars", "program_base"),
    ("vectors", np.int64, (16,)),
    # The readers' ports in this cycle.
    ("ports", _PORT, (len(READERS),)),
    ("entries", _ENTRIES, (_ENTRY_READERS,)),
    # ColumnLoader: its FSM, `busy`, `elements`.
    *fields("columns_start", "columns_state", "columns_busy", "elements"),
    # ColumnEnds: `column` is that of the next window, as is `made`.
    *fields("holds", "closes", "column", "made_valid", "made"),
    # ColumnCut: two windows by their first columns.
    *fields("first_valid", "first_window", "second_valid", "second_window"),
    *fields("base", "block", "spent", "since"),
    ("cut", _CUT),
    # SetLeaves; `checked` is the stream `set`.
    ("placed", _CUT),
    # ProgramLoader.
    *fields("program_start", "program_busy"),
    # VectorLoader: `whole` of PassControl; the registers; the queue of runs, its output.
    ("whole", np.dtype(fields("valid", "ready", "address", "columns"))),
    *fields("vectors_pending", "runs_level", "runs_valid", "runs_in", "runs_out", "runs_put"),
    *fields("chosen_valid", "origin", "lower", "upper", "located_valid", "address", "bytes"),
    *fields("located_taken"),
    ("chosen", _RUN),
    ("located", _RUN),
    ("put", _RUN),
    ("run", _RUN),
    ("runs", _RUN, (_MOST_RUNS,)),
    *fields("line_rows", "row_lines", "row_within", "row_place", "row_base"),
    # Its row at the output.
    *fields("row_valid", "row_whole", "row_last", "row_first"),
]
"""Fields of the machine."""


def memory_bus(config: SidaConfig, **others: Any) -> Bus:
    """All readers and the writer, as in the accelerator, and their memory."""
    most = config.outstanding
    again = max(2, most // 2)
    lines = {"line_blocks": config.line_blocks}

    def entries(outstanding: int) -> Reader:
        return Reader(**lines, outstanding=outstanding, requests=2)

    readers = [
        *(entries(n) for n in (max(2, most // 4), most, most)),
        *(entries(n) for n in (max(2, again // 2), again, again)),
        Reader(**lines, outstanding=max(2, most // 2), requests=most),
        entries(2),
    ]
    writer = Writer(**lines, outstanding=most, requests=4, blocks=2)
    return bus(config.geometry, readers=readers, writer=writer, groups=GROUPS, **others)


def set_up_load(m: Any, config: SidaConfig, job: dict[str, int]) -> None:
    """A machine of zeros gets its sizes, and its job: registers by their names."""
    value_bytes = config.format.bits // 8
    row_bytes = config.pes * value_bytes
    for name, value in {
        "line_bytes": config.line_bytes,
        "value_bytes": value_bytes,
        "value_shift": value_bytes.bit_length() - 1,
        "outstanding": config.outstanding,
        "line_rows": max(1, config.line_bytes // row_bytes),
        "row_lines": max(1, row_bytes // config.line_bytes),
    }.items():
        m[name] = value
    for name in ("column_pointers", "row_numbers", "column_values", "x", "scalars", "program_base"):
        m[name] = job[name.upper()]
    for number in range(16):
        m["vectors"][number] = job.get(f"VECTOR_{number}", 0)
    index_bytes = INDEX_BITS // 8
    for reader, size in {
        POINTERS: config.pes * index_bytes,
        ROWS: config.pes * index_bytes,
        VALUES: config.pes * value_bytes,
        PROGRAM: WORD_BYTES,
    }.items():
        m["entries"][ENTRIES[reader]]["size"] = size
