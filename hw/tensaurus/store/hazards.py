"""Units under way to memory, so that none is read before an earlier sum of it is there."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...stream.ring import ring_address

__all__ = ["Hazards"]


class Hazards(wiring.Component):
    """Passes addresses on, each of which is under way then until as many were ``done`` as came
    before it, and it. One that is under way already waits, and those behind it with it.

    No latency, one a cycle. An address that was done may pass in the cycle after.

    Parameters
    ----------
    bits: width of an address
    slots: addresses that are under way at most; whoever sends them counts them

    Members
    -------
    i, o: streams of addresses
    done: in, a pulse: the oldest is no longer under way
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, bits: int, slots: int) -> None:
        self._bits, self._slots = bits, slots
        super().__init__(
            {
                "i": In(stream.Signature(bits)),
                "o": Out(stream.Signature(bits)),
                "done": In(1),
                "clear": In(1),
            }
        )

    @property
    def slots(self) -> int:
        return self._slots

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slots, address = self._slots, self.i.payload
        goes = Signal()
        meets = Signal()
        newest = ring_address(m, "newest", slots, advance=goes, clear=self.clear)
        oldest = ring_address(m, "oldest", slots, advance=self.done, clear=self.clear)
        same = Signal(slots)
        busy = Signal(slots)
        for slot in range(slots):
            held = Signal(self._bits, name=f"address_{slot}", reset_less=True)
            m.d.comb += same[slot].eq(busy[slot] & (held == address))
            with m.If(self.done & (oldest == slot)):
                m.d.sync += busy[slot].eq(0)
            with m.If(goes & (newest == slot)):
                m.d.sync += [held.eq(address), busy[slot].eq(1)]
        m.d.comb += [
            meets.eq(same.any()),
            self.o.valid.eq(self.i.valid & ~meets),
            self.o.payload.eq(address),
            self.i.ready.eq(self.o.ready & ~meets),
            goes.eq(self.o.valid & self.o.ready),
        ]
        with m.If(self.clear):
            m.d.sync += Cat(busy).eq(0)
        return m
