"""State of the cycle model of the store side: fields of a record that compiled code works on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....hw.spec.tensaurus import TensaurusConfig
from ...timing.parts import QUEUE, fields
from ..result.kernel import Kernel

_MOST_SLOTS = 64
_MOST_CHANNELS = 16
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
    # Queues: extents; units, lines that are written, sums of the columns. Which unit waits for
    # which one that is under way to memory (-1: for none), and whether that was looked up.
    *fields("extents_queued"),
    *((name, QUEUE) for name in ("units", "written", "sums")),
    *fields("meets", "meets_of"),
    # Vectors that the columns have, the line of the sum that is written.
    *fields("vectors_there", "sum_line"),
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


__all__ = ["STORE", "set_up_store"]

STORE: list[tuple[Any, ...]] = [
    # The configuration and the job.
    *fields("slice_bytes", "result_unit_bytes", "settling"),
    # The writer's port in this cycle: it takes a line, an extent; what is given.
    *fields("line_accepts", "puts_line", "writer_idle"),
    # The state and the tile at hand; whether the output behind it is the job's last.
    *fields("storing", "wait", "store_tile", "output_ended"),
    # The walk: whether it asks for its extent; its place and its end, bytes to be read and to be
    # taken, whether a unit was read, whether one is set to the identity.
    *fields("walk_asks", "walk_address", "walk_bytes"),
    *fields("walk_at", "walk_units", "unread", "owed", "unit_valid", "clears"),
    # Bytes that were sent.
    *fields("sent"),
    *SUMS,
]
"""Fields of the machine."""

_READ = 1


def set_up_store(m: Any, config: TensaurusConfig, kernel: Kernel, direct: bool) -> None:
    """A machine of zeros gets a store side behind a reset, whose buffer is empty; ``direct``: the
    job adds in memory."""
    for name, value in {
        "slice_bytes": kernel.slice_values(config) * config.sum_format.bits // 8,
        "result_unit_bytes": config.result_unit_bytes,
        "settling": config.cols + _READ + config.adder_stages + 3,
    }.items():
        m[name] = value
    if direct:
        set_up_sums(m, config)
