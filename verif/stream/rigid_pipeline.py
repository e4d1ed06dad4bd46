"""A stream through stages that move together."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.scalar_functions import delay
from tilewright.hw.stream.skid_buffer import SkidBuffer
from tilewright.hw.stream.valid_pipeline import ValidPipeline


class RigidPipeline(wiring.Component):
    """A pipeline of ``ValidPipeline`` and registers of data, as arithmetic units have them.

    Parameters
    ----------
    bits: width of a transfer
    stages: number of stages
    skid: behind it is a ``SkidBuffer``, whose ready moves the stages; else nothing does, and they
        stand while something waits at the end
    """

    def __init__(self, bits: int, stages: int, *, skid: bool = False) -> None:
        self._bits, self._stages, self._skid = bits, stages, skid
        signature = stream.Signature(bits)
        super().__init__({"i": In(signature), "o": Out(signature), "clear": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.valids = valids = ValidPipeline(self._stages)
        value = delay(m, self.i.payload, self._stages, self.i.ready, "data")
        m.d.comb += [
            valids.i.eq(self.i.valid),
            valids.advance.eq(self.i.ready),
            valids.clear.eq(self.clear),
        ]
        if self._skid:
            m.submodules.skid = skid = SkidBuffer(self._bits, clearable=True)
            wiring.connect(m, skid.o, wiring.flipped(self.o))
            m.d.comb += [
                skid.clear.eq(self.clear),
                skid.i.valid.eq(valids.o),
                skid.i.payload.eq(value),
                self.i.ready.eq(skid.i.ready),
            ]
        else:
            m.d.comb += [
                self.o.valid.eq(valids.o),
                self.o.payload.eq(value),
                self.i.ready.eq(self.o.ready | ~valids.o),
            ]
        return m
