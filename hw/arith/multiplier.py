"""The multiplier of significands."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Multiplier"]


class Multiplier(wiring.Component):
    """``o = a * b``, unsigned.

    Combinational. A module of its own, so that a synthesis tool chooses its structure.

    Parameters
    ----------
    width: bits of an operand

    Members
    -------
    a, b: the operands
    o: the product, ``2 * width`` bits
    """

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__({"a": In(width), "b": In(width), "o": Out(2 * width)})

    @property
    def width(self) -> int:
        return self._width

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.a * self.b)
        return m
