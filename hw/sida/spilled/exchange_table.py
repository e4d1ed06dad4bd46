"""Which slots have an exchange under way."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.ring import ring_address
from ..held.layouts import slot_bits
from .layouts import EXCHANGES, entry_layout

__all__ = ["ExchangeTable"]


class ExchangeTable(wiring.Component):
    """An exchange is under way until the row that is missing has come, if one is, and the one that
    leaves is in memory, if one does.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    slot: in; busy, full: out; whether there is an exchange of it; whether there is no room for one
        more
    begins, misses, leaves: in; one begins, of ``slot``, unless ``busy`` or ``full``; whether a row
        is missing, and one leaves
    entry: out; its number
    came, written: in; see :func:`entry_layout`; the row is here; the one that left is in memory
    idle: out; none is under way
    clear: in; forgets all
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        done = entry_layout()
        super().__init__(
            {
                "slot": In(slot_bits(config)),
                "busy": Out(1),
                "full": Out(1),
                "begins": In(1),
                "misses": In(1),
                "leaves": In(1),
                "entry": Out(done["entry"].shape),
                "came": In(done),
                "written": In(done),
                "idle": Out(1),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number = ring_address(m, "number", EXCHANGES, advance=self.begins, clear=self.clear)
        missing = Signal(EXCHANGES)
        unwritten = Signal(EXCHANGES)
        open_ones = Signal(EXCHANGES)
        same = Signal(EXCHANGES)
        m.d.comb += [
            open_ones.eq(missing | unwritten),
            self.entry.eq(number),
            self.busy.eq((open_ones & same).any()),
            self.full.eq(Array(open_ones)[number]),
            self.idle.eq(open_ones == 0),
        ]
        for n in range(EXCHANGES):
            slot = Signal.like(self.slot, name=f"slot_{n}", reset_less=True)
            m.d.comb += same[n].eq(slot == self.slot)
            with m.If(self.begins & (number == n)):
                m.d.sync += [
                    slot.eq(self.slot),
                    missing[n].eq(self.misses),
                    unwritten[n].eq(self.leaves),
                ]
            with m.If(self.came.valid & (self.came.entry == n)):
                m.d.sync += missing[n].eq(0)
            with m.If(self.written.valid & (self.written.entry == n)):
                m.d.sync += unwritten[n].eq(0)
        with m.If(self.clear):
            m.d.sync += Cat(missing, unwritten).eq(0)
        return m
