"""Everything that changes in the cycle model but for the channels, as one record."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....hw.spec.tensaurus import READS, TensaurusConfig
from ....hw.spec.tensaurus_tiles import OPERANDS, TILE_WORDS
from ...timing.parts import GEAR, PORT, QUEUE, SKID, fields, record
from ..result.kernel import Kernel
from .array_state import ARRAY, MOST_ROWS

_MOST_SLOTS = 64
_MOST_CHANNELS = 16
_LANDED = 2
"""Cycles before the first column, on the way from a row to the last column."""

SUMS: list[tuple[Any, ...]] = [
    # Flag: the job adds in memory; the configuration: slots, lines and blocks of a unit, blocks of
    # a line; the last places of data in flight, and as many ones.
    *fields("direct", "sum_slots", "sum_lines", "sum_blocks", "sum_line_blocks", "sum_channels"),
    *fields("adding_last", "landing_last", "delays_mask"),
    # The next unit by place: it leaves a row, is asked for, goes to the writer, is in memory; those
    # between the first and the last, and by number the line that each begins with.
    *fields("sums_left", "sums_asked", "extents", "sums_done", "sums_under_way"),
    ("sum_at", np.int64, (_MOST_SLOTS,)),
    # Data in flight, a bit a cycle: from a row to the columns, through their adders.
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


TILE = record(*TILE_WORDS, "elements", "stream")
"""A tile: its description, the elements of a dense slice, and where its stream is in the content
that the model is given."""

READERS = READS
LIST, MATRICES, TENSOR, OUTPUT = range(4)

SKIDS = ("matrices_tiles", "tensor_tiles", "store_tiles", "cuts", "writes", "tile", "context")
"""Skid buffers: the first three are the tile fetcher's, by user."""

GEARS = ("list", "parts", "entries", "output")
"""Gearboxes, by what they cut."""

FORKS = ("fetched", "loads", "ahead", "users")
"""Eager forks: which outputs have taken what is at their inputs, a bit each."""

MOST_STAGES = 6

_SKID = record("puts", "put_place", "takes", *SKID.names)
"""A number as ``place``, what is put at the end of the cycle, whether the first word is taken."""
_WALK = record("active", "slices", "elements", "group", "line", "address", "row", "pitch")

LOAD: list[tuple[Any, ...]] = [
    # The configuration and the job.
    *fields("line_bytes", "entry_bytes", "value_bytes", "index_bytes", "marker_bit", "index_mask"),
    *fields("size_bits", "unit_bytes", "vector_bytes", "load_stages"),
    *fields("tiles", "list_address", "dense"),
    ("scalar_operand", np.int64, (OPERANDS,)),
    # The readers' ports in this cycle.
    ("ports", PORT, (len(READERS),)),
    ("skids", _SKID, (len(SKIDS),)),
    ("gears", GEAR, (len(GEARS),)),
    ("forks", np.int64, (len(FORKS),)),
    # The tile fetcher: asks for the list, cuts it; the check's state, and the tile.
    *fields("list_asks", "list_cuts", "check", "check_left", "check_tile"),
    # The matrix loader: the mode that is chosen next, the registers behind it (0: nothing, else 1
    # more than tile and operand); a token that is due, in its register; tokens that were made.
    *fields("operand", "due", "told_valid", "tokens"),
    ("stages", np.int64, (MOST_STAGES,)),
    # Sides, tokens since an operand was loaded, tiles of each row.
    *fields("side_bits"),
    ("since", np.int64, (OPERANDS,)),
    ("row_tiles", np.int64, (MOST_ROWS,)),
    # The tensor loader: whether the tile at its input was there before; the entry at the gearbox'
    # output, those that are seen and judged, as places in the content, with whether they are the
    # last of their tile.
    *fields("ahead_begun", "entry", "seen_valid", "seen", "seen_last", "judged_valid"),
    # Requests for lines, and their rows.
    ("walks", _WALK, (2,)),
]
"""Fields of the machine."""


def set_up_load(m: Any, config: TensaurusConfig, kernel: Kernel, dense: bool) -> None:
    """A machine of zeros gets a load side behind a reset; its list is set by the caller."""
    layout = config.layout(kernel.order)
    for name, value in {
        "line_bytes": config.line_bytes,
        "entry_bytes": layout.entry_bytes,
        "value_bytes": config.format.bits // 8,
        "index_bytes": config.index_bits // 8,
        "marker_bit": config.marker == "bit",
        "index_mask": layout.largest_index,
        "size_bits": config.spm_scalars.bit_length(),
        "unit_bytes": config.unit_bytes,
        "vector_bytes": config.vector_bytes,
        "load_stages": 3 if config.vlen & (config.vlen - 1) == 0 else MOST_STAGES,
        "dense": dense,
    }.items():
        m[name] = value
    for mode in range(1, kernel.order):
        m["scalar_operand"][mode - 1] = mode in kernel.scalar_modes


MACHINE = np.dtype([*ARRAY, *LOAD, *STORE])
"""The record of the machine, with the configuration and the job in numbers. The array alone works
on the same record: numba would take one that only begins like it for the other."""
