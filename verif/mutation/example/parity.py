"""A counter of ones that has something to spare."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Parity(wiring.Component):
    """Says whether an even number of transfers had bit 0 set, the current one included.

    Bit 1 goes nowhere that a bench looks; ``steps`` counts 0, 1, 2, 0, so it is never 3.

    Members
    -------
    i, o: the streams; ``o`` has the parity, the bit that nobody looks at, and the count
    """

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(2)), "o": Out(stream.Signature(4))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        odd = Signal()
        steps = Signal(2)
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready),
            self.o.payload[0].eq(odd ^ self.i.payload[0]),
            self.o.payload[1].eq(self.i.payload[1] ^ odd),
            self.o.payload[2:].eq(steps),
        ]
        with m.If(self.i.valid & self.o.ready):
            m.d.sync += [odd.eq(odd ^ self.i.payload[0]), steps.eq(steps + 1)]
            with m.If(steps == 2):
                m.d.sync += steps.eq(0)
        return m
