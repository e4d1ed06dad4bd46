"""State of the cycle model of the load half: fields of the machine's record."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....hw.spec.elementwise.instructions import VECTORS as VECTORS_OF_JOB
from ....hw.spec.jobs.sida import BASES
from ....hw.spec.sida import SidaConfig
from ...timing.parts import GEAR, PORT, RING_QUEUE, fields, record
from ...timing.striped.memory import Bus, Reader, Writer, bus

READERS = ("pointers", "rows", "values", "again_pointers", "again_columns", "again_values",
           "vectors", "program")  # fmt: skip
"""Readers of the bus, in the order of arbitration."""

POINTERS, ROWS, VALUES, AGAIN, _, _, VECTORS, PROGRAM = range(len(READERS))

GROUPS = (3, 3, 1, 1)
"""Readers per interconnect of a channel: columns, rows, vectors, program."""

WORD_BYTES = 4
"""Bytes of a pointer, an index, or an instruction."""

_ENTRY_READERS = 4
"""Arrays that are read as entries: the columns' three and the program."""

PROGRAM_ENTRIES = 3
"""Place of the program's in ``entries``; of the columns' it is the reader's number."""

COUNTS = ("elements", "lost", "held", "column_cycles", "wait_columns", "wait_z", "wait_held",
          "conflicts", "instructions", "wait_elementwise")  # fmt: skip
"""Counters that are updated in each cycle."""

_MOST_RUNS = 257

AHEAD = 4
"""Slices that are read ahead of the one whose blocks leave."""

SLICE = np.dtype(
    [
        # Elements, blocks of a line; which outputs of the fork have taken the request; what
        # goes to the queues in this cycle; blocks that went by.
        *fields("element_bytes", "blocks", "size", "taken", "puts", "ends", "gone", "padding"),
        # The gearbox, and the entry that waits behind it.
        *fields(*GEAR.names),
        *fields("spare", "spare_last"),
        # Entries of requests, and blocks that are not wanted.
        ("waiting", RING_QUEUE),
        ("counts", np.int64, (AHEAD + 1,)),
        ("skips", RING_QUEUE),
        ("skipped", np.int64, (AHEAD + 1,)),
    ]
)

_ENTRIES = np.dtype(
    [
        # The request, as `asks` says; which outputs of its fork have taken it; lines that stand
        # for those that were not read.
        *fields("asks", "address", "bytes", "count", "taken", "padding", "size"),
        # The gearbox: see there; the entry that waits behind it.
        *fields(*GEAR.names),
        *fields("spare", "spare_last"),
    ]
)
_CUT = record("valid", "base", "columns", "final", "begin", "end", "block")
_RUN = record("first", "final", "whole")
_PANEL = record("row", "rows", "columns", "upper")
_PART = record("valid", "row", "first", "count", "columns", "last")
_PIECE = record("valid", "address", "bytes")

LOAD: list[tuple[Any, ...]] = [
    # The configuration and the job.
    *fields("line_bytes", "value_bytes", "value_shift", "outstanding"),
    *fields("column_pointers", "row_numbers", "column_values", "x", "scalars", "program_base"),
    *fields("row_pointers", "column_numbers", "row_values"),
    ("bases", np.int64, (VECTORS_OF_JOB,)),
    # The readers' ports in this cycle.
    ("ports", PORT, (len(READERS),)),
    ("entries", _ENTRIES, (_ENTRY_READERS,)),
    # ColumnLoader: its FSM, `busy`, `elements`.
    *fields("columns_start", "columns_state", "columns_busy", "elements"),
    # ColumnEnds: `column` is that of the next window, as is `made`.
    *fields("holds", "closes", "column", "made_valid", "made"),
    # ColumnCut: two windows by their first columns.
    *fields("first_valid", "first_window", "second_valid", "second_window"),
    *fields("base", "block", "spent", "since", "stopped"),
    ("cut", _CUT),
    # SetLeaves; `checked` is the stream `set`, behind which one may wait.
    ("placed", _CUT),
    ("spare_set", _CUT),
    # RowLoader: panels inside; the request, its fork; RowWindows' queues of panels and blocks of
    # pointers, the block that is held, rows of the panel that have gone; a panel's elements, and
    # their fork.
    *fields("panels_inside", "panels_taken", "coming_puts", "rows_held", "rows_gone"),
    *fields("lengths_depth"),
    ("asked", record("valid", "panel", "columns")),
    ("slices", SLICE, (3,)),
    ("coming", RING_QUEUE),
    ("known", RING_QUEUE),
    ("lengths", RING_QUEUE),
    ("coming_panels", _PANEL, (AHEAD + 1,)),
    ("known_panels", _PANEL, (AHEAD + 1,)),
    ("found", record("valid", "lower", "upper")),
    *fields("ranges_taken"),
    # RowCut: a window, its first element and the end of its last row; `counts`, `counted` and
    # `within`. RowElements: what is `judged`; the other register is the stream `reload`.
    ("window", record("valid", "row", "begin", "end", "columns", "last", "some")),
    *fields("cut_counts", "cut_block", "cut_within"),
    ("part", _PART),
    ("judged", _PART),
    # ProgramLoader.
    *fields("program_start", "program_busy"),
    # VectorLoader: `whole` of PassControl; the registers; the queue of runs.
    ("whole", record("valid", "ready", "address", "columns")),
    *fields("vectors_pending", "runs_put"),
    ("run_queue", RING_QUEUE),
    *fields("chosen_valid", "origin", "lower", "upper", "located_valid", "address", "bytes"),
    *fields("located_taken"),
    ("chosen", _RUN),
    ("located", _RUN),
    ("runs", _RUN, (_MOST_RUNS,)),
    *fields("line_rows", "row_lines", "row_within", "row_place", "row_base"),
    # Its row at the output.
    *fields("row_valid", "row_whole", "row_last", "row_first"),
    # VectorWriter: RowJoin's two registers, the fork behind them, pieces and their lines.
    *fields("join_valid", "join_origin", "join_columns", "join_base"),
    ("piece", _PIECE),
    *fields("piece_taken", "pieces_valid", "pieces_bytes", "pieces_number"),
    *fields("pieces_level", "pieces_in", "pieces_out", "scalars_base"),
    ("pieces", np.int64, (4,)),
    # ScalarPort.
    *fields("scalars_state", "scalars_place", "scalars_given", "checked"),
    # PassControl, and what it is told.
    *fields("order_state", "part_over", "columns_pass", "loads_scalars", "check", "save"),
    *fields("finished", "passes_done", "quiet", "program_idle"),
    # Counters: `comes`; cycles of the first and the last elements, and those that had some.
    *fields("comes", "first_at", "last_at", "busy"),
    # Lines that were taken of all readers. Bytes of them and of what the memory has written: when
    # the pass began; while columns came, in all passes.
    *fields("lines_taken", "moved_before", "moved_with_columns"),
    ("counts", np.dtype(fields(*COUNTS))),
]
"""Fields of the machine."""


def memory_bus(config: SidaConfig, **others: Any) -> Bus:
    """Returns the bus with all readers and the writer of the accelerator, and their memory."""
    most = config.outstanding
    again = max(2, most // 2)
    lines = {"line_blocks": config.line_blocks}

    def entries(outstanding: int, requests: int = 2) -> Reader:
        return Reader(**lines, outstanding=outstanding, requests=requests)

    readers = [
        *(entries(n) for n in (max(2, most // 4), most, most)),
        *(entries(n, 2 + AHEAD) for n in (max(2, again // 2), again, again)),
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
    for name in BASES:
        m[name] = job[name.upper()]
    for number in range(VECTORS_OF_JOB):
        m["bases"][number] = job[f"VECTOR_{number}"]
    for place, size in {
        POINTERS: config.pes * WORD_BYTES,
        ROWS: config.pes * WORD_BYTES,
        VALUES: row_bytes,
        PROGRAM_ENTRIES: WORD_BYTES,
    }.items():
        m["entries"][place]["size"] = size
    # Lengths of two panels, and of more if they are small.
    m["lengths_depth"] = 2 * (config.subtensor // config.pes + 1) + 4
    for part, width in zip(m["slices"], (WORD_BYTES, WORD_BYTES, value_bytes), strict=True):
        part["element_bytes"] = width
        part["size"] = config.pes * width
        part["blocks"] = max(1, config.line_bytes // (config.pes * width))
