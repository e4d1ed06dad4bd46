"""Steps on a ring."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike

__all__ = ["ring_step"]


def ring_step(m: Module, name: str, place: ValueLike, steps: ValueLike, size: int) -> Value:
    """Computes the place so many steps, up to ``size``, after another on a ring of ``size``
    places."""
    total = Signal(range(2 * size), name=f"{name}_total")
    found = Signal(range(size), name=name)
    m.d.comb += [
        total.eq(Value.cast(place) + Value.cast(steps)),
        found.eq(Mux(total >= size, total - size, total)),
    ]
    return found
