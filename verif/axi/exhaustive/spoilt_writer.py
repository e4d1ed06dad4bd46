"""A writer whose bus can be spoilt, one way at a time, for what must be found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from tilewright.verif.axi.wrapped import pass_members


class SpoiltPart(wiring.Component):
    """Base of the wrappers, each of which overrides what ``pass_through`` connects.

    Parameters
    ----------
    inner: the part; its members are streams, arrays of one stream, and plain values
    ways: what is done to it, and the fault that must be found

    Members
    -------
    those of the part, and ``spoil``: in; which of ``ways``, from 1; 0: none
    """

    def __init__(self, inner: Any, ways: Mapping[str, Any]) -> None:
        self._inner, self._ways = inner, ways
        super().__init__({**inner.signature.members, "spoil": In(range(len(ways) + 1))})

    def pass_through(self, m: Module) -> dict[str, Value]:
        """Connects all members with those of the part; returns whether each way was requested."""
        m.submodules.inner = inner = self._inner
        pass_members(m, inner, self)
        return {name: self.spoil == number for number, name in enumerate(self._ways, 1)}

    def held(self, m: Module, *ports: Any) -> list[Signal]:
        """Returns for each port whether its VALID waited for READY in the previous cycle."""
        waits = [Signal(name=f"held_{number}") for number in range(len(ports))]
        m.d.sync += [w.eq(port.valid & ~port.ready) for w, port in zip(waits, ports, strict=True)]
        return waits


WAYS = {
    "W waits for AWREADY": ("not done",),
    "AWVALID comes late": ("w before its aw",),
    "idle does not wait for responses": ("idle while the bus owes something",),
    "addresses are slow in their queue": ("a response comes before its address can leave",),
    "WVALID has gaps": ("w takes back its valid", "w pauses within a burst"),
    "WDATA does not stay": ("w changes before ready",),
    "AWADDR does not stay": ("aw changes before ready",),
    "WLAST is late": ("wlast is wrong",),
    "an address is wrong": ("is written wrongly", "is written twice", "crosses a boundary"),
    "WSTRB is all ones": ("is written wrongly", "is written twice"),
    "WVALID follows WREADY": ("a VALID follows a READY",),
    "AWVALID follows AWREADY": ("a VALID follows a READY",),
    "idle never comes": ("no idle after a stop", "not done"),
    "requests are taken during a stop": ("a request is taken during a stop",),
    "errors are kept back": ("no error after a bad response",),
}
"""Defects of a writer, each with the faults of which one must be found."""


class SpoiltWriter(SpoiltPart):
    """A writer of one channel and one part."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner, WAYS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner, way = self._inner, self.pass_through(m)
        time = Signal(8)
        m.d.sync += time.eq(time + 1)
        aw, w = inner.aw[0], inner.w[0]
        # Bursts accepted whose last beat has not gone.
        accepted = Signal(8)
        address_moves = self.aw[0].valid & self.aw[0].ready
        last_moves = self.w[0].valid & self.w[0].ready & w.payload.last
        m.d.sync += accepted.eq(accepted + address_moves - last_moves)

        def gate(port: Any, inside: Any, name: str, condition: Any) -> None:
            """VALID and READY only under a condition."""
            with m.If(way[name] & ~condition):
                m.d.comb += [port.valid.eq(0), inside.ready.eq(0)]

        gate(self.w[0], w, "W waits for AWREADY", accepted != 0)
        gate(self.w[0], w, "WVALID has gaps", time[0])
        gate(self.w[0], w, "WVALID follows WREADY", self.w[0].ready)
        gate(self.aw[0], aw, "AWVALID follows AWREADY", self.aw[0].ready)
        waited = Signal(3)
        m.d.sync += waited.eq(0)
        with m.If(aw.valid & ~aw.ready):
            m.d.sync += waited.eq(waited + (waited != 7))
        gate(self.aw[0], aw, "AWVALID comes late", waited == 7)
        with m.If(way["idle does not wait for responses"] & ~aw.valid & ~w.valid):
            m.d.comb += self.idle.eq(1)
        with m.If(way["idle never comes"]):
            m.d.comb += self.idle.eq(0)
        with m.If(way["errors are kept back"]):
            m.d.comb += self.error.eq(0)
        with m.If(way["requests are taken during a stop"] & self.stop):
            m.d.comb += self.request[0].ready.eq(1)
        late = Signal(4)
        m.d.sync += late.eq(inner.answerable.replicate(4) & ((late << 1) | 1))
        with m.If(way["addresses are slow in their queue"]):
            m.d.comb += self.answerable.eq(late.all())
        aw_held, w_held = self.held(m, self.aw[0], self.w[0])
        with m.If(way["WDATA does not stay"] & w_held):
            m.d.comb += self.w[0].payload.data.eq(~w.payload.data)
        with m.If(way["AWADDR does not stay"] & aw_held):
            m.d.comb += self.aw[0].payload.address.eq(~aw.payload.address)
        before = Signal()
        with m.If(w.valid & w.ready):
            m.d.sync += before.eq(w.payload.last)
        with m.If(way["WLAST is late"]):
            m.d.comb += self.w[0].payload.last.eq(before)
        with m.If(way["an address is wrong"]):
            m.d.comb += self.aw[0].payload.address.eq(aw.payload.address ^ 8)
        with m.If(way["WSTRB is all ones"]):
            m.d.comb += self.w[0].payload.strobe.eq(~0)
        return m
