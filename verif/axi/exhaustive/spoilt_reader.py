"""A reader whose bus can be spoilt, one way at a time, for what must be found."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["WAYS", "SpoiltReader"]

WAYS = {
    "ARVALID follows ARREADY": "a VALID follows a READY",
    "ARVALID is taken back": "ar changes before ready",
    "ARADDR does not stay": "ar changes before ready",
    "an address is wrong": "other data than asked",
    "RREADY is low": "rready is low when a response comes",
    "data is wrong": "other data than asked",
    "data does not stay": "data changes before ready",
    "data is offered during a stop": "data is offered during a stop",
    "requests are taken during a stop": "a request is taken during a stop",
    "idle does not wait for responses": "idle while the bus owes something",
    "idle never comes": "not done",
    "errors are kept back": "no error after a bad response",
}
"""What is done to a reader, and the fault that must be found."""


class SpoiltReader(wiring.Component):
    """A reader of one channel.

    Members
    -------
    those of the reader, and ``spoil``: in; which of ``WAYS``, from 1; 0: none
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
                continue
            for one, other in zip(inside, outside, strict=True):
                wiring.connect(m, one, wiring.flipped(other))
        time = Signal(2)
        m.d.sync += time.eq(time + 1)
        (ar,), (r,), o = inner.ar, inner.r, inner.o[0]
        bus, response, data = self.ar[0], self.r[0], self.o[0]
        held = {port: Signal() for port in (bus, data)}
        m.d.sync += [waits.eq(port.valid & ~port.ready) for port, waits in held.items()]
        for name, allowed in (
            ("ARVALID follows ARREADY", bus.ready),
            ("ARVALID is taken back", time[0]),
        ):
            with m.If(way[name] & ~allowed):
                m.d.comb += [bus.valid.eq(0), ar.ready.eq(0)]
        with m.If(way["ARADDR does not stay"] & held[bus]):
            m.d.comb += bus.payload.address.eq(~ar.payload.address)
        with m.If(way["an address is wrong"]):
            m.d.comb += bus.payload.address.eq(ar.payload.address ^ 0x800)
        with m.If(way["RREADY is low"] & time[1]):
            m.d.comb += [response.ready.eq(0), r.valid.eq(0)]
        with m.If(way["data is wrong"] | (way["data does not stay"] & held[data])):
            m.d.comb += data.payload.data.eq(~o.payload.data)
        with m.If(way["data is offered during a stop"] & self.stop):
            m.d.comb += data.valid.eq(1)
        with m.If(way["requests are taken during a stop"] & self.stop):
            m.d.comb += self.request[0].ready.eq(1)
        with m.If(way["idle does not wait for responses"] & ~ar.valid):
            m.d.comb += self.idle.eq(1)
        with m.If(way["idle never comes"]):
            m.d.comb += self.idle.eq(0)
        with m.If(way["errors are kept back"]):
            m.d.comb += self.error.eq(0)
        return m
