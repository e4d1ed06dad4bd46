"""The fused adder behind operands that are taken apart and multiplied, as a unit."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.gta.float.float_accumulate import FloatAccumulate
from tilewright.hw.gta.float.float_operand import FloatOperand
from tilewright.hw.gta.float.headers import sum_format
from tilewright.hw.gta.float.product_of_headers import ProductOfHeaders
from tilewright.hw.spec.formats import FloatFormat

__all__ = ["AccumulateUnit"]


class AccumulateUnit(wiring.Component):
    """``o = RNE(x * y + sum)``, the last register as a running sum's. Nothing may stall it.

    Parameters
    ----------
    formats: of operands
    stages: of the adder
    own: fp16 and bf16 may have sums of these formats

    Members
    -------
    i: ``x``, ``y`` in the low bits, their ``format``'s number, ``sum``; ``own``: it is of that
      format, too
    o: the new sum, in the low bits
    """

    def __init__(self, formats: Sequence[FloatFormat], stages: int, *, own: bool = False) -> None:
        self._formats = tuple(formats)
        self._stages = stages
        self._own = own
        bits = max(sum_format(fmt.name).bits for fmt in formats)
        operand = max(fmt.bits for fmt in formats)
        given = {"x": operand, "y": operand, "format": 2, "sum": bits, "own": 1}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(given))),
                "o": Out(stream.Signature(data.StructLayout({"o": bits}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = self.i.payload
        m.submodules.x = x = FloatOperand(self._formats)
        m.submodules.y = y = FloatOperand(self._formats)
        m.submodules.adder = adder = FloatAccumulate(
            self._formats, stages=self._stages, own=self._own
        )
        layout = adder.header.shape()
        m.submodules.headers = headers = ProductOfHeaders(layout["exponent"].width - 1)
        for operand, word, header in ((x, given.x, headers.x), (y, given.y, headers.y)):
            m.d.comb += [operand.word.eq(word), operand.format.eq(given.format)]
            missing = len(header.exponent) - len(operand.header.exponent)
            top = operand.header.exponent[-1]
            # Operands narrower than their sums: fp16 alone.
            wider = Cat(operand.header.exponent[:-1], (~top).replicate(missing), top)
            for name, _ in header.shape():
                m.d.comb += header[name].eq(wider if name == "exponent" else operand.header[name])
        m.d.comb += [
            adder.product.eq(x.significand * y.significand),
            adder.header.eq(headers.o),
            adder.sum.eq(given.sum),
            self.i.ready.eq(1),
        ]
        if "narrow" in adder.signature.members:
            names = [fmt.name for fmt in self._formats]
            for name, _ in adder.narrow.shape():
                if name == "fp32":
                    here = ~given.own | (given.format == names.index(name) if name in names else 0)
                    if "fp64" in names:
                        here = here & (given.format != names.index("fp64"))
                else:
                    here = given.own & (given.format == names.index(name))
                m.d.comb += adder.narrow[name].eq(here)
        valid = Signal(self._stages)
        result = Signal.like(adder.o)
        m.d.sync += [valid.eq(Cat(self.i.valid, valid)[: self._stages]), result.eq(adder.o)]
        m.d.comb += [self.o.valid.eq(valid[-1]), self.o.payload.o.eq(result)]
        return m
