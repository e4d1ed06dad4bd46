"""The accumulator input of one dot product unit."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arith.unpack import Unpack
from ..arith.unpacked import format_layout
from ..spec.formats import FLOAT_FORMATS

__all__ = ["AddendBuffer"]

_FP32 = FLOAT_FORMATS["fp32"]


class AddendBuffer(wiring.Component):
    """Unpacks and holds an element of c, beside the operands of the data-assignment stage.

    Latency: one register, two if pipelined. Registers move only while ``advance`` is set.

    Parameters
    ----------
    complex: an element may be complex: real part low, imaginary part high
    pipelined: another register stands in front

    Members
    -------
    i: the element, 32 or (complex) 64 bits
    load, advance: as in the data-assignment stage
    o: the unpacked addend of the current step
    take: (pipelined) as in the data-assignment stage
    swap_words: (complex) the next step is the first of the imaginary part
    """

    def __init__(self, *, complex: bool = False, pipelined: bool = False) -> None:
        self._complex = complex
        self._pipelined = pipelined
        members = {
            "i": In(64 if complex else 32),
            "load": In(1),
            "advance": In(1),
            "o": Out(format_layout(_FP32)),
        }
        if pipelined:
            members["take"] = In(1)
        if complex:
            members["swap_words"] = In(1)
        super().__init__(members)

    @property
    def complex(self) -> bool:
        return self._complex

    @property
    def pipelined(self) -> bool:
        return self._pipelined

    def elaborate(self, platform: object) -> Module:
        m = Module()
        element = self.i
        if self._pipelined:
            taken = Signal.like(self.i, reset_less=True)
            with m.If(self.advance & self.take):
                m.d.sync += taken.eq(self.i)
            element = taken
        m.submodules.unpack = unpack = Unpack(_FP32)
        addend = Signal(self.o.shape(), reset_less=True)
        m.d.comb += [unpack.i.eq(element[:32]), self.o.eq(addend)]
        change = self.load
        if self._complex:
            imaginary = Signal(32, reset_less=True)
            change = self.load | self.swap_words
            m.d.comb += unpack.i.eq(Mux(self.load, element[:32], imaginary))
            with m.If(self.advance & self.load):
                m.d.sync += imaginary.eq(element[32:])
        with m.If(self.advance & change):
            m.d.sync += addend.eq(unpack.o)
        return m
