"""What the cycle model keeps, as records that compiled code works on.

Names are those of the registers of the hardware, where there is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....hw.spec.jobs.gta import COUNTERS
from ....hw.spec.jobs.gta_commands import KINDS

__all__ = ["MACHINE", "REGION", "WALK"]


def _fields(*names: str) -> Any:
    return np.dtype([(name, np.int64) for name in names])


WALK = _fields(
    # Requests for rows: those left, the next one; the command at hand and the one behind it.
    *("left", "place", "beats", "stride", "asked", "kept"),
    *("held", "held_command", "spare", "spare_command"),
    # The command that is walked: rows and bytes of the row that are left, and where it is.
    *("active", "rows_left", "bytes_left", "at", "lane", "entry", "bank"),
)
MACHINE = np.dtype(
    [
        # The list: what of a command is there, commands that are left, whether one waits.
        *_fields("words", "left", "cut", "asked_left", "waits").descr,
        # Its check: state, cycles to go, the command that is looked at.
        *_fields("state", "wait", "number").descr,
        # The three queues: commands put in, taken out, in the memory, at the output.
        *[(name, np.int64, len(KINDS)) for name in ("put", "got", "level", "valid", "wants")],
        *[(name, np.int64, len(KINDS)) for name in ("puts", "pops", "passed", "complete")],
        # LOADs: the chunk on its way.
        *_fields("chunk", "chunk_result", "chunk_lane", "chunk_ends", "loaded").descr,
        # STOREs: parts that are read and not taken on, the last two cycles' reads, parts in the
        # queue and at its output.
        *_fields("owed", "read_1", "read_2", "waiting_in", "waiting_out", "waiting").descr,
        *_fields("waiting_valid", "narrow", "narrow_part", "upper", "at").descr,
        # The beat at the end of them; STOREs that were sent.
        *_fields("beat", "beat_ends", "sent").descr,
        # EXECUTEs under way: begun, complete.
        *_fields("begun", "ended", "first_at", "gap").descr,
        ("counts", np.dtype([(name, np.int64) for name in COUNTERS])),
    ]
)
REGION = _fields(
    *("rows", "cols", "lanes"),
    # The command taken last, and where its folds are; see `FoldSequencer`.
    *("command", "fresh", "active", "stay", "wait", "last", "tail", "steady", "row", "col"),
    # The fold whose sums stay, and its first result to leave; folds; commands whose end is known,
    # and that have ended.
    *("fold_rows", "fold_last", "fold_reads", "fold_first"),
    *("folds_in", "folds_out", "dones_in", "dones_out"),
    # Of vectors: a command waits; cycles before another one; those left; those until it is quiet.
    *("v_waits", "v_early", "v_left", "v_tail"),
    # Cycles in which the last one began just now; where its results are.
    *("v_near", "v_results", "v_end"),
    *("quiet_at", "running"),
)
