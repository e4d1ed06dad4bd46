"""Carry-save addition: many rows to two, one full adder deep a level."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Signal, Value

__all__ = ["compress"]


def compress(
    m: Module, rows: Sequence[Value], ones: Sequence[Value], *, width: int, name: str
) -> tuple[Value, Value, Value]:
    """Reduce ``rows`` and the single bits ``ones`` to two rows and a carry.

    The returned ``(first, second, carry)`` have the sum of all rows and all bits, modulo
    ``2**width``. Every level turns three rows into two; each carry row leaves its lowest bit
    free, which takes one of ``ones``, and the last of them becomes ``carry``: there is room
    for ``len(rows) - 1`` of them.
    """
    if len(ones) > max(len(rows) - 1, 1):
        raise ValueError(f"`ones` must be at most {len(rows) - 1} bits, not {len(ones)}")
    waiting, level = list(ones), 0
    current = list(rows)
    while len(current) > 2:
        following: list[Value] = []
        for index in range(0, len(current) - 2, 3):
            a, b, c = current[index : index + 3]
            total = Signal(width, name=f"{name}_sum_{level}_{index // 3}")
            carry = Signal(width, name=f"{name}_carry_{level}_{index // 3}")
            majority = (a & b) | (a & c) | (b & c)
            slot = waiting.pop(0) if len(waiting) > 1 else C(0, 1)
            m.d.comb += [total.eq(a ^ b ^ c), carry.eq(Cat(slot, majority))]
            following += [total, carry]
        following += current[len(current) - len(current) % 3 :]
        current, level = following, level + 1
    current += [C(0, width)] * (2 - len(current))
    return current[0], current[1], waiting[0] if waiting else C(0, 1)
