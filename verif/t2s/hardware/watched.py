"""A part between sources and sinks that keep the rules of streams, for proofs that it keeps them,
too."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Watched(wiring.Component):
    """A part between sources and sinks that keep the rules of streams.

    Parameters
    ----------
    part: the component; it may have inputs ``copies`` and ``trips_summed``
    steady: whether these stay as they are, as they must

    Members
    -------
    offer_<i>, payload_<i>: what a source offers, unless it still offers something else
    take_<o>: whether a sink is ready
    copies, trips: of the first cycle count, if they are steady
    broken: something that was offered has gone, or has changed
    """

    def __init__(self, part: Any, *, steady: bool = True) -> None:
        self._part = part
        self._steady = steady
        members = part.signature.members
        streams = [name for name in members if hasattr(getattr(part, name), "valid")]
        self._inputs = [name for name in streams if members[name].flow is In]
        self._outputs = [name for name in streams if members[name].flow is Out]
        self._counts = "copies" in members
        counts = {"copies": In(1), "trips": In(1)} if self._counts else {}
        widths = {name: len(Value.cast(getattr(part, name).payload)) for name in self._inputs}
        super().__init__(
            {
                **{f"offer_{name}": In(1) for name in self._inputs},
                **{f"payload_{name}": In(width) for name, width in widths.items()},
                **{f"take_{name}": In(1) for name in self._outputs},
                **counts,
                "broken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = self._part
        if self._counts:
            self._count(m)
        for name in self._inputs:
            port, waiting = getattr(part, name), Signal(name=f"{name}_waiting")
            payload = Value.cast(port.payload)
            kept = Signal.like(payload, name=f"{name}_kept")
            m.d.comb += [
                port.valid.eq(waiting | getattr(self, f"offer_{name}")),
                payload.eq(getattr(self, f"payload_{name}")),
            ]
            with m.If(waiting):
                m.d.comb += payload.eq(kept)
            m.d.sync += [waiting.eq(port.valid & ~port.ready), kept.eq(payload)]
        for name in self._outputs:
            port, offered = getattr(part, name), Signal(name=f"{name}_offered")
            payload = Value.cast(port.payload)
            before = Signal.like(payload, name=f"{name}_before")
            m.d.comb += port.ready.eq(getattr(self, f"take_{name}"))
            m.d.sync += [offered.eq(port.valid & ~port.ready), before.eq(payload)]
            with m.If(offered & (~port.valid | (payload != before))):
                m.d.comb += self.broken.eq(1)
        return m

    def _count(self, m: Module) -> None:
        """Copies, and a trip count of at least 1."""
        part = self._part
        began = Signal()
        copies = Signal()
        trips = Signal()
        m.d.sync += began.eq(int(self._steady))
        with m.If(~began):
            m.d.sync += [copies.eq(self.copies), trips.eq(self.trips)]
            m.d.comb += [part.copies.eq(self.copies), part.trips_summed.eq(1 + self.trips)]
        with m.Else():
            m.d.comb += [part.copies.eq(copies), part.trips_summed.eq(1 + trips)]
