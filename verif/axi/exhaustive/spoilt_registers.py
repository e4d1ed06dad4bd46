"""Registers that can be spoilt, one way at a time, for what must be found."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["WAYS", "SpoiltRegisters"]

WAYS = {
    "BVALID follows BREADY": "a VALID follows a READY",
    "RVALID follows RREADY": "a VALID follows a READY",
    "BRESP does not stay": "b changes before ready",
    "RDATA does not stay": "r changes before ready",
    "BRESP is always OKAY": "another response",
    "RDATA is wrong": "other data",
    "a write is lost": "another value",
    "set bits are lost": "other flags",
    "a pulse is lost": "another pulse",
    "a response comes after the effect": "another value",
}
"""What is done to registers, and the fault that must be found."""


class SpoiltRegisters(wiring.Component):
    """The registers of the bench.

    Members
    -------
    those of the registers, and ``spoil``: in; which of ``WAYS``, from 1; 0: none
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        super().__init__({**inner.signature.members, "spoil": In(range(len(WAYS) + 1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        way = {name: self.spoil == n for n, name in enumerate(WAYS, 1)}
        for name, member in inner.signature.members.items():
            inside, outside = getattr(inner, name), getattr(self, name)
            if member.is_port:
                ahead = member.flow == wiring.Out
                m.d.comb += outside.eq(inside) if ahead else inside.eq(outside)
            else:
                wiring.connect(m, inside, wiring.flipped(outside))
        held = {port: Signal() for port in (self.b, self.r)}
        m.d.sync += [waits.eq(port.valid & ~port.ready) for port, waits in held.items()]
        for name, port in (("BVALID follows BREADY", self.b), ("RVALID follows RREADY", self.r)):
            with m.If(way[name] & ~port.ready):
                m.d.comb += port.valid.eq(0)
        b, r = inner.b.payload, inner.r.payload
        response, data = self.b.payload.response, self.r.payload.data
        with m.If(way["BRESP does not stay"] & held[self.b]):
            m.d.comb += response.eq(~b.response)
        with m.If(way["BRESP is always OKAY"]):
            m.d.comb += response.eq(0)
        with m.If(way["RDATA is wrong"] | (way["RDATA does not stay"] & held[self.r])):
            m.d.comb += data.eq(~r.data)
        with m.If(way["a write is lost"]):
            m.d.comb += inner.w.payload.strobe.eq(0)
        with m.If(way["set bits are lost"]):
            m.d.comb += inner.flags_set.eq(0)
        with m.If(way["a pulse is lost"]):
            m.d.comb += self.pulse.eq(0)
        waits = Signal()
        m.d.sync += waits.eq(inner.b.valid & ~waits)
        with m.If(way["a response comes after the effect"] & inner.b.valid & ~waits):
            m.d.comb += [self.b.valid.eq(0), inner.b.ready.eq(0)]
        return m
