"""The iterative operators of a format, and the fused multiplier and adder, as a unit."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.divide import FloatDivide
from tilewright.hw.arith.multiply_add import FloatMultiplyAdd
from tilewright.hw.arith.square_root import FloatSquareRoot
from tilewright.hw.spec.formats import FloatFormat

__all__ = ["IterativeUnit", "MultiplyAddUnit"]


class IterativeUnit(wiring.Component):
    """Quotient and root of what comes, one after the other.

    The root takes fewer cycles than the quotient, and its result stays.

    Parameters
    ----------
    format: of all values

    Members
    -------
    i: ``a``, ``b``
    o: ``quotient`` of a and b, ``root`` of a
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        bits = format.bits
        operands = data.StructLayout({"a": bits, "b": bits})
        results = data.StructLayout({"quotient": bits, "root": bits})
        super().__init__({"i": In(stream.Signature(operands)), "o": Out(stream.Signature(results))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.divide = divide = FloatDivide(self._format)
        m.submodules.root = root = FloatSquareRoot(self._format)
        works = Signal()
        waits = Signal()
        start = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq(~works),
            divide.start.eq(start),
            root.start.eq(start),
            divide.a.eq(self.i.payload.a),
            divide.b.eq(self.i.payload.b),
            root.a.eq(self.i.payload.a),
            self.o.valid.eq(divide.done | waits),
            self.o.payload.quotient.eq(divide.o),
            self.o.payload.root.eq(root.o),
        ]
        with m.If(self.o.valid):
            m.d.sync += waits.eq(~self.o.ready)
        with m.If(start):
            m.d.sync += works.eq(1)
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += works.eq(0)
        return m


class MultiplyAddUnit(wiring.Component):
    """A pipelined ``FloatMultiplyAdd``, whose registers stand while its result waits.

    Parameters
    ----------
    format: of all values
    stages: register stages, at least 1

    Members
    -------
    i: ``a``, ``b``, ``c``
    o: the result
    """

    def __init__(self, format: FloatFormat, stages: int) -> None:
        self._format, self._stages = format, stages
        operands = data.StructLayout(dict.fromkeys("abc", format.bits))
        super().__init__(
            {
                "i": In(stream.Signature(operands)),
                "o": Out(stream.Signature(data.StructLayout({"o": format.bits}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.multiply_add = unit = FloatMultiplyAdd(self._format, stages=self._stages)
        valid = Signal(self._stages)
        advance = Signal()
        m.d.comb += [
            advance.eq(self.o.ready | ~valid[-1]),
            self.i.ready.eq(advance),
            unit.advance.eq(advance),
            *(getattr(unit, name).eq(self.i.payload[name]) for name in "abc"),
            self.o.valid.eq(valid[-1]),
            self.o.payload.o.eq(unit.o),
        ]
        with m.If(advance):
            m.d.sync += valid.eq(Cat(self.i.valid, valid)[: self._stages])
        return m
