"""A reader whose bus can be spoilt, one way at a time, for what must be found."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from tilewright.verif.axi.exhaustive.spoilt_part import SpoiltPart

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
    "idle does not wait for data": "idle with data inside",
    "idle never comes": "not done",
    "errors are kept back": "no error after a bad response",
}
"""What is done to a reader, and the fault that must be found."""


class SpoiltReader(SpoiltPart):
    """A reader of one channel."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner, WAYS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner, way = self._inner, self.pass_through(m)
        time = Signal(2)
        m.d.sync += time.eq(time + 1)
        (ar,), (r,), o = inner.ar, inner.r, inner.o[0]
        bus, response, data = self.ar[0], self.r[0], self.o[0]
        bus_held, data_held = self.held(m, bus, data)
        for name, allowed in (
            ("ARVALID follows ARREADY", bus.ready),
            ("ARVALID is taken back", time[0]),
        ):
            with m.If(way[name] & ~allowed):
                m.d.comb += [bus.valid.eq(0), ar.ready.eq(0)]
        with m.If(way["ARADDR does not stay"] & bus_held):
            m.d.comb += bus.payload.address.eq(~ar.payload.address)
        with m.If(way["an address is wrong"]):
            m.d.comb += bus.payload.address.eq(ar.payload.address ^ 0x800)
        with m.If(way["RREADY is low"] & time[1]):
            m.d.comb += [response.ready.eq(0), r.valid.eq(0)]
        with m.If(way["data is wrong"] | (way["data does not stay"] & data_held)):
            m.d.comb += data.payload.data.eq(~o.payload.data)
        with m.If(way["data is offered during a stop"] & self.stop):
            m.d.comb += data.valid.eq(1)
        with m.If(way["requests are taken during a stop"] & self.stop):
            m.d.comb += self.request[0].ready.eq(1)
        early = (way["idle does not wait for responses"] & self.stop) | (
            way["idle does not wait for data"] & ~ar.valid
        )
        with m.If(early):
            m.d.comb += self.idle.eq(1)
        with m.If(way["idle never comes"]):
            m.d.comb += self.idle.eq(0)
        with m.If(way["errors are kept back"]):
            m.d.comb += self.error.eq(0)
        return m
