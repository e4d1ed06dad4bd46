"""State of the cycle model of the load side: fields of records that compiled code works on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....hw.spec.tensaurus import READS, TensaurusConfig
from ....hw.spec.tensaurus_tiles import OPERANDS, TILE_WORDS
from ...timing.parts import GEAR, PORT, SKID, fields, record
from ..result.kernel import Kernel
from .array_state import MOST_ROWS

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
