"""Cycle model: operands that are asked for, and waves that pass the rows."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import DELAYS, FREE, Shape, State

__all__ = ["arrive", "carry_out", "put", "waves"]


@inlined
def _serve(c: Shape, s: State, kind: int, wave: int, row: int) -> bool:
    """The row's oldest request whose bank is free, or reads the same vector; whether there were
    requests, and none was served."""
    pending = False
    for n in range(c.window):
        place = (s.rows[row].oldest + n) % c.window
        entry = s.window[row, place]
        if not entry[1 + kind]:
            continue
        pending = True
        key = s.banks[kind, wave, entry[3]]
        if key in (FREE, entry[4]):
            s.banks[kind, wave, entry[3]] = entry[4]
            s.grants[kind, wave, row] = place
            entry[1 + kind] = 0
            return False
    return pending


@inlined
def arrive(c: Shape, s: State, now: int) -> None:
    """What the scratchpads read will be there; the wave that is complete is what they read next."""
    half = now % c.rows
    for kind in range(2):
        for row in range(c.rows):
            if s.access[kind, row] != FREE:
                s.window[row, s.access[kind, row], 0] = 1
            s.access[kind, row] = s.grants[kind, half, row]
            s.grants[kind, half, row] = FREE
        s.banks[kind, half, :] = FREE


@inlined
def waves(c: Shape, s: State, now: int) -> None:
    """Every row has its wave."""
    half = now % c.rows
    for row in range(c.rows):
        wave = (row - half) % c.rows
        unit = _serve(c, s, 0, wave, row)
        scalar = _serve(c, s, 1, wave, row)
        if unit or scalar:
            s.rows[row].conflicts += 1


@inlined
def carry_out(c: Shape, s: State, row: int, now: int) -> int:
    """Let the oldest operation go if its operand is there; 1 if it does, 0 if it waits, -1 if there
    is none."""
    record = s.rows[row]
    if record.level == 0:
        return -1
    entry = s.window[row, record.oldest]
    if not entry[0]:
        record.wait_operands += 1
        return 0
    if entry[5]:
        record.products += 1
        record.last_at = now
        if not record.begun:
            record.begun = 1
            record.first_at = now
    if entry[6]:
        s.released[row, (now + 2 + c.multiplier + c.adder) % DELAYS] = 1
    return 1


@inlined
def put(c: Shape, s: State, row: int) -> None:
    """The operation in the head's register goes into the window."""
    record = s.rows[row]
    entry = s.window[row, record.newest]
    entry[0] = record.source == 0
    entry[1] = record.source == 1
    entry[2] = record.source == 2
    entry[3] = record.bank
    entry[4] = record.key
    entry[5] = record.active
    entry[6] = record.release
    entry[7] = record.ends
    record.newest = (record.newest + 1) % c.window
