"""State of the cycle model of sums in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....hw.spec.tensaurus import TensaurusConfig
from ..array.state import fields

__all__ = ["SUMS", "set_up_sums"]

_MOST_SLOTS = 64
_MOST_CHANNELS = 16
_READ = 1
_LANDED = 2
"""Of the cycles from what leaves a row to the last column, those before the first column."""

SUMS: list[tuple[Any, ...]] = [
    # Whether the job adds in memory; the configuration: slots, lines and blocks of a unit, blocks
    # of a line; the last places of what travels, and as many ones.
    *fields("direct", "sum_slots", "sum_lines", "sum_blocks", "sum_line_blocks", "sum_channels"),
    *fields("adding_last", "landing_last", "delays_mask"),
    # The next unit by place: it leaves a row, is asked for, goes to the writer, is in memory; those
    # between the first and the last, and by number the line that each begins with.
    *fields("sums_left", "sums_asked", "extents", "sums_done", "sums_under_way"),
    ("sum_at", np.int64, (_MOST_SLOTS,)),
    # What travels, a bit a cycle: from a row to the columns, through their adders.
    *fields("coming", "adding"),
    # Queues: what is in them, and at their outputs; which unit waits for which one that is under
    # way to memory (-1: for none), and whether that was looked up.
    *fields("units_queued", "units_there", "extents_queued", "written_queued", "written_there"),
    *fields("meets", "meets_of"),
    # Vectors that the columns have, sums that they have, the line of the one that is written.
    *fields("vectors_there", "sums_there", "sum_line"),
    # The line that is answered next; by channel the blocks that were answered, and those of them
    # that belong to lines before it.
    *fields("answer_line"),
    ("answers", np.int64, (_MOST_CHANNELS,)),
    ("answers_used", np.int64, (_MOST_CHANNELS,)),
]
"""Fields of the machine."""


def set_up_sums(m: Any, config: TensaurusConfig) -> None:
    """A machine of zeros gets what a job that adds in memory needs."""
    landing = config.cols + _LANDED
    adding = _READ + config.adder_stages
    for name, value in {
        "direct": 1,
        "sum_slots": config.memory_slots,
        "sum_lines": config.unit_lines,
        "sum_blocks": config.unit_block_bytes // config.interleave,
        "sum_line_blocks": config.line_blocks,
        "sum_channels": config.channels,
        "adding_last": adding,
        "landing_last": landing,
        "delays_mask": (1 << max(adding, landing, 3) + 1) - 1,
        "meets_of": -1,
    }.items():
        m[name] = value
