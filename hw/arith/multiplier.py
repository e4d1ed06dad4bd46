"""The multiplier of significands and of integers."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Multiplier"]


class Multiplier(wiring.Component):
    """Computes ``o = a * b``.

    Combinational. A module of its own, so that a synthesis tool chooses its structure.

    Parameters
    ----------
    width: bits of an operand
    signed: whether operands and product are

    Members
    -------
    a, b: the operands
    o: the product, ``2 * width`` bits
    """

    verilog_parameters: ClassVar = {"WIDTH": "width"}

    def __init__(self, width: int, *, signed: bool = False) -> None:
        self._width = width
        self._signed = signed
        operand = Shape(width, signed)
        super().__init__({"a": In(operand), "b": In(operand), "o": Out(Shape(2 * width, signed))})

    @property
    def width(self) -> int:
        return self._width

    @property
    def signed(self) -> bool:
        return self._signed

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.a * self.b)
        return m
