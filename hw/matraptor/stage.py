"""A pipeline register that can be emptied."""

from __future__ import annotations

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Stage"]


class Stage(wiring.Component):
    """Passes a stream on through a register, as ``OutputRegister`` does.

    ``i.ready`` follows ``o.ready`` in the same cycle. Latency one cycle; one transfer a cycle.

    Parameters
    ----------
    payload: shape of a transfer

    Members
    -------
    i, o: the streams
    clear: in; forgets everything at the end of the cycle, a transfer at ``i`` included
    """

    def __init__(self, payload: ShapeLike) -> None:
        self._payload = payload
        signature = stream.Signature(payload)
        super().__init__({"i": In(signature), "o": Out(signature), "clear": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal()
        payload = Signal(self._payload, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(self.o.ready | ~valid),
            self.o.valid.eq(valid),
            self.o.payload.eq(payload),
        ]
        with m.If(self.i.ready):
            m.d.sync += [valid.eq(self.i.valid), payload.eq(self.i.payload)]
        with m.If(self.clear):
            m.d.sync += valid.eq(0)
        return m
