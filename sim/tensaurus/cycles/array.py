"""Cycle model of the compute array: counters as the hardware's, cycle for cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....hw.spec.tensaurus import TensaurusConfig
from ...timing.compiled import compiled, inlined
from ..result.kernel import Kernel
from .drain import drain, drain_queue
from .fetch import arrive, carry_out, put, waves
from .head import head
from .state import COUNTS, Plan, Shape, State, plan, shape, state

__all__ = ["END", "HEADER", "VALUE", "ArrayCounts", "RowSlots", "array_counts"]

VALUE, HEADER, END = range(3)
"""Kinds of slots, as ``SlotKind`` in the hardware."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowSlots:
    """What a row gets, tile after tile.

    Parameters
    ----------
    kind: (slots,) of each slot
    index: (slots, modes): of a header the slice is the first; else by mode, less 1
    sides: (slots, modes) the side of each mode's operand
    """

    kind: Ints
    index: Ints
    sides: Ints


@dataclass(frozen=True)
class ArrayCounts:
    """What happened.

    Parameters
    ----------
    events: by name, see ``COUNTS``, of all rows
    busy: cycles from the first product to the last one
    cycles: until all slices had left
    """

    events: dict[str, int]
    busy: int
    cycles: int


class _Slots(NamedTuple):
    """Slots of all rows one behind the other: row r's from ``start[r]`` on; operands are twice
    their address, and the side."""

    start: Any
    kind: Any
    slice: Any
    product: Any
    fiber_0: Any
    fiber_1: Any


@inlined
def _decode(c: Shape, s: State, d: _Slots, row: int, taken: bool) -> bool:
    """The register before the head; whether the tile ends in it."""
    record = s.rows[row]
    ends = False
    place = d.start[row] + record.slot
    there = record.tile_valid and place < d.start[row + 1]
    free = taken or not record.decoded
    if taken:
        record.decoded = 0
    if there and d.kind[place] == HEADER:
        record.slice = d.slice[place]
        record.slot += 1
    elif there and free:
        record.decoded = 1
        record.end = d.kind[place] == END
        record.value_slice = record.slice
        record.product = d.product[place]
        record.fiber_0 = d.fiber_0[place]
        record.fiber_1 = d.fiber_1[place]
        record.slot += 1
        ends = record.end != 0
    return ends


@compiled
def _run(c: Shape, s: State, p: Plan, d: _Slots, tiles: int, phase: int, limit: int) -> int:
    """All tiles; the cycle in which the last row has drained the last one."""
    served = c.rows
    given = opened = left = 0
    for now in range(limit):
        served = drain(c, s, p, served, now)
        tile = given < tiles
        for row in range(c.rows):
            tile = tile and s.rows[row].tile_level != 2
            if s.rows[row].leaving and s.slices[row, s.rows[row].first, 1]:
                left += 1
        if left == tiles * c.rows:
            return now
        half = now + phase
        for row in range(c.rows):
            s.rows[row].going = carry_out(c, s, row, now) == 1
        arrive(c, s, half)
        waves(c, s, half)
        for row in range(c.rows):
            record = s.rows[row]
            level = record.level - record.going
            puts = record.issued and record.level < c.window
            if puts:
                put(c, s, row)
                level += 1
            taken, size, end = head(c, s, p, row)
            record.level = level
            if record.going:
                record.oldest = (record.oldest + 1) % c.window
            drain_queue(c, s, row, size, end, now)
            ends = _decode(c, s, d, row, taken)
            read = record.tile_level != 0 and (ends or not record.tile_valid)
            record.tile_valid = read or (record.tile_valid and not ends)
            record.tile_level += tile - read
            record.tiles += opened < tiles
        given += tile
        opened += opened < tiles
    return -1


def array_counts(
    config: TensaurusConfig,
    kernel: Kernel,
    rows: Sequence[RowSlots],
    regions: dict[int, int],
    tiles: int,
    *,
    phase: int = 0,
    limit: int = 1 << 40,
) -> ArrayCounts:
    """What the array counts of a job whose slots, tokens and openings are there at once.

    ``regions``: by mode, where its operand begins. ``phase``: cycles since the reset. Raises
    RuntimeError if it takes ``limit`` cycles.
    """
    numbers, job, machine = shape(config), plan(config, kernel), state(config)
    order = kernel.order
    start = np.cumsum([0, *(len(row.kind) for row in rows)])
    kind = np.concatenate([row.kind for row in rows]).astype(np.int64)
    index = np.concatenate([row.index for row in rows]).astype(np.int64)
    sides = np.concatenate([row.sides for row in rows]).astype(np.int64)

    def operand(mode: int) -> Ints:
        """The operand of a mode, less 1; 0 if the job has none."""
        if mode < 1:
            return np.zeros(len(kind), np.int64)
        scalar = kernel.name == "ttmc" and mode != order - 1
        count = kernel.scalars[mode - 1] if scalar else kernel.vectors
        found: Ints = (regions[mode] + index[:, mode - 1] * count) * 2 + sides[:, mode - 1]
        return found

    slots = _Slots(
        start, kind, index[:, 0].copy(), operand(order - 1), operand(order - 2), operand(order - 3)
    )
    cycles = _run(numbers, machine, job, slots, tiles, phase, limit)
    if cycles < 0:
        raise RuntimeError(f"the array has not finished after {limit} cycles")
    records = machine.rows
    products = records[records["begun"] == 1]
    busy = 0
    if len(products):
        busy = int(products["last_at"].max() - products["first_at"].min()) + 1
    events = {name: int(records[name].sum()) for name in COUNTS}
    return ArrayCounts(events, busy, cycles)
