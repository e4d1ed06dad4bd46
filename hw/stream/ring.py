"""Addresses that walk round a memory, and counts of its contents."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike

__all__ = ["moved_count", "ring_address"]


def ring_address(
    m: Module,
    name: str,
    depth: int,
    *,
    advance: ValueLike,
    clear: ValueLike | None = None,
    begin: int = 0,
) -> Signal:
    """A register that counts 0, 1, ... ``depth - 1``, 0, a step in each cycle with ``advance``.

    It begins with ``begin``, and ``clear`` takes it back to that. Its width is that of a memory
    port's address.
    """
    address = Signal(range(depth), name=name, init=begin)
    with m.If(advance):
        m.d.sync += address.eq(address + 1)
        if depth & (depth - 1):
            with m.If(address == depth - 1):
                m.d.sync += address.eq(0)
    if clear is not None:
        with m.If(clear):
            m.d.sync += address.eq(begin)
    return address


def moved_count(count: Value, up: Value, down: Value) -> Value:
    """A count, one more, or one less. What moves it arrives late: it drives a multiplexer's select,
    not the carry chain."""
    return Mux(up == down, count, Mux(up, count + 1, count - 1))
