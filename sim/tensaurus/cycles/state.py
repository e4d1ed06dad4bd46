"""Everything that changes in the cycle model but for the channels, as one record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....hw.spec.jobs.tensaurus_operations import OPERANDS, TILE_WORDS
from ....hw.spec.tensaurus import OVERDUE, READS, TensaurusConfig
from ...timing.parts import GEAR, PORT, QUEUE, SKID, fields, record
from ..result.kernel import Kernel

COUNTS = ("products", "conflicts", "wait_operands", "wait_sums", "wait_output", "wait_slots")
"""The counters of the array, one for each row."""

FREE = -1
"""No slot, no vector, no operation."""

DELAYS = 32
"""Cycles that something is on its way at most."""

SIDES = 16
"""More than the tiles that rows may have been told of, and those that they work on."""

SLICES = 1024
"""More than the slices of a row that may be under way."""

MOST_ROWS = 16
_LEVELS = 3
_WALKS = 3
"""Over the closed groups of a level: the pairs of partial sums, first, last, second."""
_SLOTS = 64
_WINDOW = 64
_BANKS = 32
_AGES = 16


_LEVEL = np.dtype(
    fields(
        # The open group.
        *("open", "tail", "used", "origin", "result", "partials", "length"),
        *("wrapped", "position", "vector"),
        # The closed ones.
        *("queued", "written", "oldest", "trimmed"),
        # A group that ends with the next cycle, and what it is for.
        *("closes", "fiber", "close", "ends", "can"),
        # The products of the oldest group.
        *("fiber_loaded", "fiber_vector", "fiber_scalar", "pair_vector"),
    )
)
_GROUP = np.dtype(
    fields(
        *("origin", "result", "partials", "length"),
        *("fiber_0", "fiber_1", "close_0", "close_1"),
        "end",
    )
)
_OPERATION = np.dtype(fields("there", "bank", "key", "active", "release", "end"))
_SLOT = np.dtype(fields("kind", "index_0", "index_1", "index_2"))
_ROW = np.dtype(
    [
        *fields(
            # Tokens of tiles, and the sides of the tile at hand.
            *("tile", "sides"),
            # The slot at the output of its queue: whether it is taken in this cycle, what it is.
            *("took", "kind", "index_0", "index_1", "index_2"),
            # The queue behind it: its next places, whether something is put.
            *("put_at", "read_at", "puts", "tiles_inside"),
            # The decoder's register, the slice that was announced; the register behind that one.
            *("decoded", "end", "value_slice", "product", "fiber_0", "fiber_1", "slice"),
            *("spare", "spare_end", "spare_slice", "spare_product", "spare_0", "spare_1"),
            # The head: the open fiber, the vector of the product, how long a sum was not added.
            *("held_slice", "held_0", "held_1", "vector", "age", "quiet"),
            # The operation in its register, and what is in the window.
            *("issued", "source", "bank", "key", "active", "release", "ends"),
            *("level", "oldest", "newest", "going"),
            # The drain: slices in its queue's ring, that can be read; tiles that are open.
            *("first", "slice_put", "complete", "tiles", "leaving", "vector_out"),
            # Slots that it frees; slices with values that have not left, in a ring; the one before.
            *("freed", "slice_in", "slice_out", "slice_last"),
            *COUNTS,
            # The row of a dense tensor: lines that are there, whether these are as many as may be;
            # the slice, whether a header is next, the place in the line, the indices.
            *("line", "line_full", "slice_first", "heads", "place", "at_0", "at_1", "at_2"),
            # The row of a stream: whether it has ended; the slot of the entry that was judged.
            *("ended", "present"),
        ),
        ("tokens", QUEUE),
        ("slots", QUEUE),
        ("drain", QUEUE),
        ("slot", _SLOT),
        ("queue", _SLOT, (256,)),
        ("levels", _LEVEL, (_LEVELS,)),
        ("groups", _GROUP, (_LEVELS, _SLOTS)),
        ("pointers", np.int64, (_LEVELS, _WALKS)),
        ("behind", np.int64, (_LEVELS, _WALKS)),
        # Flags: the walk's current group is looked at, and has a sum to add.
        ("loaded", np.int64, (_LEVELS, _WALKS)),
        # Slots of the latest operations.
        ("sums", np.int64, (_AGES,)),
        ("starts", np.int64, (_AGES,)),
        # Operations; by arbiter how many wait for a wave, and their places, the oldest first.
        ("window", _OPERATION, (_WINDOW,)),
        ("asks", np.int64, (2,)),
        ("asked", np.int64, (2, _WINDOW)),
        # Slices in the drain's queue: slots, and whether it is an end instead.
        ("slices", np.int64, (_SLOTS + 2, 2)),
        # Events in flight, by cycle: slices that can be read, ends of tiles.
        ("released", np.int64, (DELAYS,)),
        ("done", np.int64, (DELAYS,)),
        ("numbers", np.int64, (SLICES,)),
    ]
)

ARRAY: list[tuple[Any, ...]] = [
    # The configuration.
    *fields("height", "cols", "levels", "window", "bank_count", "vlen", "latency", "multiplier"),
    *fields("temporary", "output", "overdue", "sums_kept", "starts_kept", "queue_depth"),
    # The job: by level vectors and span, by temporary level repeats; whether products, and fibers,
    # take scalars; by mode, where its operand begins, and parts of a row of it; units of a slice of
    # the result, and slices of a unit.
    *fields("order", "scalar_products", "scalar_fibers", "slice_units", "unit_slices"),
    ("vectors", np.int64, (_LEVELS,)),
    ("span", np.int64, (_LEVELS,)),
    ("repeats", np.int64, (_LEVELS,)),
    ("region", np.int64, (OPERANDS,)),
    ("count", np.int64, (OPERANDS,)),
    # The row whose vector left last; ends of tiles that have left, and when the last one did.
    *fields("served", "drained", "drained_at"),
    # Events of this cycle: a token comes, a tile is opened; no vector may leave; one does, of which
    # unit.
    *fields("token", "opens", "hold", "leaves", "left_unit"),
    # Cycles with a product, the first and the last one; vectors that left, the highest unit + 1.
    *fields("busy", "first_at", "last_at", "drains", "touched"),
    # The waves [arbiter, wave, bank], [arbiter, wave, row], and the complete one.
    ("banks", np.int64, (2, MOST_ROWS, _BANKS)),
    ("grants", np.int64, (2, MOST_ROWS, MOST_ROWS)),
    ("access", np.int64, (2, MOST_ROWS)),
    # The sides of the tiles that rows were told of.
    ("sides", np.int64, (SIDES,)),
    ("rows", _ROW, (MOST_ROWS,)),
]
"""Fields of the machine."""


def set_up_array(
    m: Any, config: TensaurusConfig, kernel: Kernel, regions: Mapping[int, int]
) -> None:
    """A machine of zeros becomes an array behind a reset with a job; ``regions``: by mode."""
    for name, value in {
        "height": config.rows,
        "cols": config.cols,
        "levels": config.order - 1,
        "window": config.window,
        "bank_count": config.banks,
        "vlen": config.vlen,
        "latency": config.sum_latency,
        "multiplier": config.product_latency,
        "temporary": config.temporary_slots,
        "output": config.output_slots,
        "overdue": OVERDUE,
        "sums_kept": config.sum_latency + config.product_latency,
        "starts_kept": config.product_latency,
        "queue_depth": config.row_queue,
        "order": kernel.order,
        "scalar_products": kernel.name == "mv",
        "scalar_fibers": kernel.name == "ttmc",
        "slice_units": kernel.units,
        "unit_slices": config.unit_values if kernel.name == "mv" else 1,
        "served": config.rows,
        "first_at": FREE,
        "last_at": FREE,
    }.items():
        m[name] = value
    _set_up_groups(m, config, kernel)
    for mode in range(1, OPERANDS + 1):
        m["region"][mode - 1] = regions.get(mode, 0)
        scalar = kernel.name == "ttmc" and mode in kernel.scalar_modes
        m["count"][mode - 1] = kernel.scalars[mode - 1] if scalar else kernel.vectors
    for name in ("banks", "grants", "access"):
        m[name][...] = FREE
    rows = m["rows"]
    rows["sums"], rows["starts"], rows["slice_last"] = FREE, FREE, FREE
    rows["heads"] = 1


def _set_up_groups(m: Any, config: TensaurusConfig, kernel: Kernel) -> None:
    """Sets the sizes of groups, as the hardware derives them from a job's registers."""
    levels = config.order - 1
    first, second = kernel.scalars
    vectors = [kernel.vectors] * levels
    vectors[-1] = kernel.units
    if levels == 3:
        vectors[1] = kernel.vectors * second
    repeats = [first if kernel.name == "ttmc" else 1] * levels
    if kernel.name == "ttmc" and kernel.order == 4:
        repeats[0] = second
    m["vectors"][:levels] = vectors
    m["span"][:levels] = [count * config.partial_sums(count) for count in vectors]
    m["repeats"][:levels] = repeats


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
        "delays_mask": (1 << max(adding, landing, FOUND) + 1) - 1,
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

_READ = 2

FOUND = 4
"""As if a unit's address came into its queue so many cycles behind the register of what leaves a
row: three to the queue, and one for the register behind it."""


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
    # The line that waits behind the reader; whether one is there in this cycle, whether it goes.
    *fields("line_spare", "line_there", "line_goes"),
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
