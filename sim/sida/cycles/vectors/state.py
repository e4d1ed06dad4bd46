"""State of the cycle model of Gather: fields of the machine's record, and arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .....hw.spec.sida import SidaConfig
from ..shared import fields

__all__ = ["VECTORS", "WAYS", "Lanes", "lanes", "set_up_vectors"]

WAYS = 2
"""Lanes of a leaf that sets are dealt out to."""

VECTORS: list[tuple[Any, ...]] = [
    # Masks of rings' addresses, and of banks; bits of a bank's number.
    *fields("window_mask", "lane_mask", "bank_mask", "bank_bits"),
    # Steps whose z is written.
    *fields("z_steps"),
    *fields("way_in", "way_out", "newest", "oldest"),
    # The bank's first lane in this cycle; operands that were not asked for, of all lanes.
    *fields("first_lane", "waiting"),
    # Which outputs of the fork before it have taken the set that is there, a bit each.
    *fields("dealt"),
    # Its output register: of a set what the sums need; `elements`: how many.
    (
        "gathered",
        np.dtype(fields("valid", "base", "columns", "elements")),
    ),
]
"""Fields of the machine."""


class Lanes(NamedTuple):
    """Sets that are inside, and what is known of their operands. By way:

    ``put``, ``taken`` [way]: sets so far; set n is in place n % depth. ``rows`` [way, place, leaf]:
    that are wanted, -1: none. ``asked`` [lane]: operands so far. ``arriving``, ``there`` [way,
    place]: how many leaves' operands arrive, and are there. ``sets`` [place] -> (base, columns,
    elements), of all sets. ``used``, ``line`` [bank]: the last cycle in which it reads, and what.
    """

    put: Any
    taken: Any
    rows: Any
    asked: Any
    arriving: Any
    there: Any
    sets: Any
    used: Any
    line: Any


def lanes(config: SidaConfig) -> Lanes:
    """Behind the reset."""
    depth = config.window // WAYS
    return Lanes(
        put=np.zeros(WAYS, np.int64),
        taken=np.zeros(WAYS, np.int64),
        rows=np.zeros((WAYS, depth, config.pes), np.int32),
        asked=np.zeros(WAYS * config.pes, np.int64),
        arriving=np.zeros((WAYS, depth), np.int64),
        there=np.zeros((WAYS, depth), np.int64),
        sets=np.zeros((config.window, 3), np.int64),
        used=np.full(config.gather_banks, -1, np.int64),
        line=np.zeros(config.gather_banks, np.int32),
    )


def set_up_vectors(m: Any, config: SidaConfig, phase: int) -> None:
    """A machine of zeros gets its Gather ``phase`` cycles behind the reset."""
    m["window_mask"] = config.window - 1
    m["lane_mask"] = config.window // WAYS - 1
    m["bank_mask"] = config.gather_banks - 1
    m["bank_bits"] = (config.gather_banks - 1).bit_length()
    m["first_lane"] = phase % (WAYS * config.pes)
