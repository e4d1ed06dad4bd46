"""Registers that can be spoilt, one way at a time, for what must be found."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from tilewright.verif.axi.exhaustive.spoilt_part import SpoiltPart

__all__ = ["WAYS", "SpoiltRegisters"]

WAYS = {
    "BVALID follows BREADY": "a VALID follows a READY",
    "RVALID follows RREADY": "a VALID follows a READY",
    "ARREADY follows RREADY": "a READY follows a READY",
    "ARREADY is late": "ARREADY does not wait for RREADY alone",
    "RVALID is late": "data do not come a cycle after their address",
    "BRESP does not stay": "b changes before ready",
    "RDATA does not stay": "r changes before ready",
    "BRESP is always OKAY": "another response",
    "RDATA is wrong": "other data",
    "a write is lost": "another value",
    "set bits are lost": "other flags",
    "cleared bits stay": "other flags",
    "a pulse is lost": "another pulse",
    "a response comes after the effect": "another value",
}
"""What is done to registers, and the fault that must be found."""


class SpoiltRegisters(SpoiltPart):
    """The registers of the bench."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner, WAYS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner, way = self._inner, self.pass_through(m)
        b_held, r_held = self.held(m, self.b, self.r)
        for name, port in (("BVALID follows BREADY", self.b), ("RVALID follows RREADY", self.r)):
            with m.If(way[name] & ~port.ready):
                m.d.comb += port.valid.eq(0)
        b, r = inner.b.payload, inner.r.payload
        response, data = self.b.payload.response, self.r.payload.data
        with m.If(way["BRESP does not stay"] & b_held):
            m.d.comb += response.eq(~b.response)
        with m.If(way["BRESP is always OKAY"]):
            m.d.comb += response.eq(0)
        with m.If(way["RDATA is wrong"] | (way["RDATA does not stay"] & r_held)):
            m.d.comb += data.eq(~r.data)
        with m.If(way["a write is lost"]):
            m.d.comb += inner.w.payload.strobe.eq(0)
        with m.If(way["set bits are lost"]):
            m.d.comb += inner.flags_set.eq(0)
        with m.If(way["cleared bits stay"]):
            m.d.comb += inner.flags_clear.eq(0)
        with m.If(way["a pulse is lost"]):
            m.d.comb += self.pulse.eq(0)
        with m.If(way["ARREADY follows RREADY"] & inner.r.valid & self.r.ready):
            m.d.comb += self.ar.ready.eq(1)
        late = Signal()
        m.d.sync += late.eq(inner.r.valid)
        with m.If(way["ARREADY is late"] & late & ~inner.r.valid):
            m.d.comb += [self.ar.ready.eq(0), inner.ar.valid.eq(0)]
        with m.If(way["RVALID is late"] & inner.r.valid & ~late):
            m.d.comb += [self.r.valid.eq(0), inner.r.ready.eq(0)]
        waits = Signal()
        m.d.sync += waits.eq(inner.b.valid & ~waits)
        with m.If(way["a response comes after the effect"] & inner.b.valid & ~waits):
            m.d.comb += [self.b.valid.eq(0), inner.b.ready.eq(0)]
        return m
