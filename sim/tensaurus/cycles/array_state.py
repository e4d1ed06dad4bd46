"""State of the cycle model of the compute array: fields of records that compiled code works on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....hw.spec.tensaurus import OVERDUE, TensaurusConfig
from ....hw.spec.tensaurus_tiles import OPERANDS
from ...timing.parts import QUEUE, fields
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
_AGES = 8


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
            # The decoder's register, and the slice that was announced.
            *("decoded", "end", "value_slice", "product", "fiber_0", "fiber_1", "slice"),
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
            # The row of a dense tensor: a line is there, whether it comes in this cycle; the slice,
            # whether a header is next, the place in the line, the indices.
            *("line", "line_comes", "slice_first", "heads", "place", "at_0", "at_1", "at_2"),
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
    *fields("adder", "temporary", "output", "overdue", "sums_kept", "starts_kept", "queue_depth"),
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
        "multiplier": config.multiplier_stages,
        "adder": config.adder_stages,
        "temporary": config.temporary_slots,
        "output": config.output_slots,
        "overdue": OVERDUE,
        "sums_kept": config.sum_latency + config.multiplier_stages - 1,
        "starts_kept": config.multiplier_stages,
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
