"""The multiplier of significands and of integers."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, Shape, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Multiplier", "UnequalMultiplier", "joined_halves"]


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


class UnequalMultiplier(wiring.Component):
    """Computes ``o = a * b``, unsigned, of two widths.

    Combinational. A module of its own, so that a synthesis tool chooses its structure; not a
    :class:`Multiplier`, which is one Verilog module with one width as its parameter.

    Parameters
    ----------
    a_width, b_width: bits of the operands

    Members
    -------
    a, b: the operands
    o: the product, as many bits as both have
    """

    def __init__(self, a_width: int, b_width: int) -> None:
        self._a_width, self._b_width = a_width, b_width
        super().__init__({"a": In(a_width), "b": In(b_width), "o": Out(a_width + b_width)})

    @property
    def a_width(self) -> int:
        return self._a_width

    @property
    def b_width(self) -> int:
        return self._b_width

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.a * self.b)
        return m


def joined_halves(lower: Value, upper: Value, half: int) -> Value:
    """Returns the product of two factors, from those of one with both parts of the other.

    Parameters
    ----------
    lower, upper: the products with the other's lowest ``half`` bits and with those above
    """
    high = (lower[half:] + upper)[: len(upper)]
    return Cat(lower[:half], high)
