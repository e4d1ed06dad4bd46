"""Cycle model: operands that are asked for, and waves that pass the rows."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from .state import DELAYS, FREE

__all__ = ["arrive", "carry_out", "put", "waves"]


@called
def _serve(m: Any, row: Any, number: int, kind: int, wave: int) -> bool:
    """The row's oldest request whose bank is free, or reads the same vector; whether there were
    requests, and none was served."""
    count = row.asks[kind]
    chosen = FREE
    for age in range(count):
        operation = row.window[row.asked[kind, age]]
        key = m.banks[kind, wave, operation.bank]
        if key in (FREE, operation.key):
            m.banks[kind, wave, operation.bank] = operation.key
            chosen = age
            break
    if chosen != FREE:
        m.grants[kind, wave, number] = row.asked[kind, chosen]
        for age in range(chosen + 1, count):
            row.asked[kind, age - 1] = row.asked[kind, age]
        row.asks[kind] = count - 1
    return count > 0 and chosen == FREE


@called
def arrive(m: Any, half: int) -> None:
    """What the scratchpads read will be there; the wave that is complete is what they read next."""
    for kind in range(2):
        for number in range(m.height):
            if m.access[kind, number] != FREE:
                m.rows[number].window[m.access[kind, number]].there = 1
            m.access[kind, number] = m.grants[kind, half, number]
            m.grants[kind, half, number] = FREE
        for bank in range(m.bank_count):
            m.banks[kind, half, bank] = FREE


@called
def waves(m: Any, half: int) -> None:
    """Every row has its wave."""
    for number in range(m.height):
        row = m.rows[number]
        wave = number - half if number >= half else number - half + m.height
        conflict = False
        for kind in range(2):
            if row.asks[kind]:
                conflict = _serve(m, row, number, kind, wave) or conflict
        if conflict:
            row.conflicts += 1


@called
def carry_out(m: Any, row: Any, now: int) -> None:
    """Let the oldest operation go if its operand is there."""
    row.going = 0
    if row.level == 0:
        return
    operation = row.window[row.oldest]
    if not operation.there:
        row.wait_operands += 1
        return
    row.going = 1
    if operation.active:
        row.products += 1
        m.last_at = now
    if operation.release:
        row.released[(now + 2 + m.multiplier + m.adder) % DELAYS] = 1
        if operation.end:
            row.done[(now + 2 + m.cols) % DELAYS] = 1


@called
def put(m: Any, row: Any) -> None:
    """The operation in the head's register goes into the window."""
    place = row.newest
    operation = row.window[place]
    operation.there = row.source == 0
    operation.bank = row.bank
    operation.key = row.key
    operation.active = row.active
    operation.release = row.release
    operation.end = row.ends
    if row.source != 0:
        kind = row.source - 1
        row.asked[kind, row.asks[kind]] = place
        row.asks[kind] += 1
    row.newest = (place + 1) & (m.window - 1)
