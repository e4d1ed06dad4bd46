"""Floating-point comparison, minimum and maximum."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .unpack import Unpack

__all__ = ["FloatCompare", "FloatMinMax"]


class FloatCompare(wiring.Component):
    """Compares two floats.

    Combinational. Exactly one of ``less``, ``equal``, ``greater``, ``unordered`` is set:
    the two zeros are equal, a NaN is unordered with everything.

    Parameters
    ----------
    format: format of the operands

    Members
    -------
    a, b: the operands
    less, equal, greater, unordered: the relation of a to b
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        super().__init__(
            {
                "a": In(format.bits),
                "b": In(format.bits),
                "less": Out(1),
                "equal": Out(1),
                "greater": Out(1),
                "unordered": Out(1),
            }
        )

    @property
    def format(self) -> FloatFormat:
        return self._format

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unpack_a = a = Unpack(self._format, normalise=False)
        m.submodules.unpack_b = b = Unpack(self._format, normalise=False)
        smaller = Signal()
        same = Signal()
        sign_a, sign_b = self.a[-1], self.b[-1]
        m.d.comb += [
            a.i.eq(self.a),
            b.i.eq(self.b),
            # Packed magnitudes order like the values they stand for.
            smaller.eq(self.a[:-1] < self.b[:-1]),
            same.eq(self.a[:-1] == self.b[:-1]),
            self.unordered.eq(a.o.nan | b.o.nan),
        ]
        equal = (same & (sign_a == sign_b)) | (a.o.zero & b.o.zero)
        less = Mux(sign_a != sign_b, sign_a, Mux(sign_a, ~smaller & ~same, smaller))
        m.d.comb += [
            self.equal.eq(~self.unordered & equal),
            self.less.eq(~self.unordered & ~equal & less),
            self.greater.eq(~(self.unordered | self.equal | self.less)),
        ]
        return m


class FloatMinMax(wiring.Component):
    """Computes IEEE 754-2019 ``minimum`` and ``maximum``: a NaN wins, and -0 is less than +0.

    Combinational. A NaN result is the canonical one.

    Parameters
    ----------
    format: format of the operands

    Members
    -------
    a, b: the operands
    maximum: selects the larger operand, not the smaller
    o: the selected operand
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        super().__init__(
            {
                "a": In(format.bits),
                "b": In(format.bits),
                "maximum": In(1),
                "o": Out(format.bits),
            }
        )

    @property
    def format(self) -> FloatFormat:
        return self._format

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.compare = compare = FloatCompare(self._format)
        take_b = Signal()
        # Equal operands are identical but for the two zeros, where the sign decides.
        b_is_less = compare.greater | (compare.equal & self.b[-1])
        m.d.comb += [
            compare.a.eq(self.a),
            compare.b.eq(self.b),
            take_b.eq(b_is_less ^ self.maximum),
        ]
        with m.If(compare.unordered):
            m.d.comb += self.o.eq(self._format.nan)
        with m.Else():
            m.d.comb += self.o.eq(Mux(take_b, self.b, self.a))
        return m
