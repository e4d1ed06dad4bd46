"""A register between two streams that cuts every path from one to the other."""

from __future__ import annotations

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SkidBuffer"]


class SkidBuffer(wiring.Component):
    """Passes a stream on, all its outputs (``i.ready`` included) straight from registers.

    Latency one cycle; one transfer a cycle; holds up to two transfers.

    Parameters
    ----------
    payload: shape of a transfer
    clearable: whether there is a ``clear``

    Members
    -------
    i, o: the streams
    clear: in; forgets everything at the end of the cycle, a transfer at ``i`` included
    """

    def __init__(self, payload: ShapeLike, *, clearable: bool = False) -> None:
        self._payload = payload
        self._clearable = clearable
        signature = stream.Signature(payload)
        clear = {"clear": In(1)} if clearable else {}
        super().__init__({"i": In(signature), "o": Out(signature), **clear})

    @property
    def clearable(self) -> bool:
        return self._clearable

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal()
        spare_valid = Signal()
        payload = Signal(self._payload, reset_less=True)
        spare = Signal(self._payload, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~spare_valid),
            self.o.valid.eq(valid),
            self.o.payload.eq(payload),
        ]
        with m.If(self.o.ready | ~valid):
            m.d.sync += [valid.eq(spare_valid | self.i.valid), spare_valid.eq(0)]
            with m.If(spare_valid):
                m.d.sync += payload.eq(spare)
            with m.Else():
                m.d.sync += payload.eq(self.i.payload)
        with m.Elif(self.i.valid & ~spare_valid):
            m.d.sync += [spare.eq(self.i.payload), spare_valid.eq(1)]
        if self._clearable:
            with m.If(self.clear):
                m.d.sync += [valid.eq(0), spare_valid.eq(0)]
        return m
