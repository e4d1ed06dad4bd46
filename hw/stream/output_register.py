"""A register at the end of a stream's path."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["OutputRegister"]


class OutputRegister(wiring.Component):
    """Passes a stream on, with ``o.valid`` and ``o.payload`` straight from registers.

    ``i.ready`` follows ``o.ready`` in the same cycle; ``SkidBuffer`` cuts that path too. Latency
    one cycle; one transfer a cycle; holds one transfer.

    Parameters
    ----------
    payload: shape of a transfer
    clearable: whether there is a ``clear``

    Members
    -------
    i, o: the streams
    clear: in; forgets everything at the end of the cycle, a transfer at ``i`` included
    """

    verilog_parameters: ClassVar = {"WIDTH": "payload"}

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
        payload = Signal(self._payload, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(self.o.ready | ~valid),
            self.o.valid.eq(valid),
            self.o.payload.eq(payload),
        ]
        with m.If(self.i.ready):
            m.d.sync += [valid.eq(self.i.valid), payload.eq(self.i.payload)]
        if self._clearable:
            with m.If(self.clear):
                m.d.sync += valid.eq(0)
        return m
