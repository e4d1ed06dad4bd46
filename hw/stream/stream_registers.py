"""A register between two streams that cuts every path from one to the other."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


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


class SkidBuffer(wiring.Component):
    """Passes a stream on, with ``i.ready`` straight from a register.

    With an output register all its outputs come straight from registers: latency one cycle, up to
    two transfers inside. Without one it has no latency, and holds a transfer only while that waits.
    One transfer a cycle.

    Parameters
    ----------
    payload: shape of a transfer
    output_register: whether the output is a register, too
    clearable: whether there is a ``clear``

    Members
    -------
    i, o: the streams
    clear: in; forgets everything at the end of the cycle, a transfer at ``i`` included
    """

    verilog_parameters: ClassVar = {"WIDTH": "payload"}

    def __init__(
        self, payload: ShapeLike, *, output_register: bool = True, clearable: bool = False
    ) -> None:
        self._payload = payload
        self._output_register, self._clearable = output_register, clearable
        signature = stream.Signature(payload)
        clear = {"clear": In(1)} if clearable else {}
        super().__init__({"i": In(signature), "o": Out(signature), **clear})

    @property
    def output_register(self) -> bool:
        return self._output_register

    @property
    def clearable(self) -> bool:
        return self._clearable

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spare_valid = Signal()
        spare = Signal(self._payload, reset_less=True)
        m.d.comb += self.i.ready.eq(~spare_valid)
        # `o.ready` arrives late, so the spare register loads every cycle while it is free.
        with m.If(~spare_valid):
            m.d.sync += spare.eq(self.i.payload)
        if self._output_register:
            valid = Signal()
            payload = Signal(self._payload, reset_less=True)
            m.d.comb += [self.o.valid.eq(valid), self.o.payload.eq(payload)]
            with m.If(self.o.ready | ~valid):
                m.d.sync += [valid.eq(spare_valid | self.i.valid), spare_valid.eq(0)]
                with m.If(spare_valid):
                    m.d.sync += payload.eq(spare)
                with m.Else():
                    m.d.sync += payload.eq(self.i.payload)
            with m.Elif(self.i.valid):
                m.d.sync += spare_valid.eq(1)
        else:
            m.d.comb += [
                self.o.valid.eq(spare_valid | self.i.valid),
                self.o.payload.eq(self.i.payload),
            ]
            with m.If(spare_valid):
                m.d.comb += self.o.payload.eq(spare)
            with m.If(self.o.ready):
                m.d.sync += spare_valid.eq(0)
            with m.Elif(self.i.valid):
                m.d.sync += spare_valid.eq(1)
        if self._clearable:
            with m.If(self.clear):
                m.d.sync += spare_valid.eq(0)
                if self._output_register:
                    m.d.sync += valid.eq(0)
        return m
