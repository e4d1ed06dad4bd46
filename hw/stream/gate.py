"""Something that can hold a stream up."""

from __future__ import annotations

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Gate"]


class Gate(wiring.Component):
    """Passes a stream on, but offers nothing new while held; a transfer that has been offered
    stays.

    ``i.ready`` follows ``o.ready``, and ``o`` follows ``i``, in the same cycle.

    Parameters
    ----------
    payload: shape of a transfer

    Members
    -------
    i, o: the streams
    hold: in; may change in any cycle, with ``i`` or without
    """

    def __init__(self, payload: ShapeLike) -> None:
        signature = stream.Signature(payload)
        super().__init__({"i": In(signature), "o": Out(signature), "hold": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offered = Signal()
        passes = Signal()
        m.d.comb += [
            passes.eq(offered | ~self.hold),
            self.o.valid.eq(self.i.valid & passes),
            self.o.payload.eq(self.i.payload),
            self.i.ready.eq(self.o.ready & passes),
        ]
        m.d.sync += offered.eq(self.o.valid & ~self.o.ready)
        return m
