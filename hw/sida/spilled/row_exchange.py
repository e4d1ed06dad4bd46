"""Manages which rows of w are on chip."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.ring import reads_with_writes, ring_address
from ..elementwise.layouts import values_layout
from ..held.layouts import place_bits, slot_bits
from .cached_sums import (
    EXCHANGES,
    entry_layout,
    slot_of,
    tag_layout,
    tag_of,
    tag_write_layout,
    used_layout,
    wanted_layout,
)
from .exchanged_rows import ExchangedRows, victim_layout


class ExchangeTable(wiring.Component):
    """Tracks the exchanges of rows in flight.

    An exchange ends when the missing row, if any, has arrived, and the row that leaves, if any, is
    in memory.

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
        self.config: Final = config
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


class RowExchange(wiring.Component):
    """Fetches the rows that elements wait for, or will wait for, each to its only slot.

    The row that was in the slot is sent to memory before.

    A row is not fetched while it is on its way to memory, and stays while an element is about to be
    added to it: so each row that an element waits for serves it when it comes. Elements that wait
    and those that will are heard in turn; the latter once each, so that they cannot keep a slot
    from the former. One exchange begins in a cycle, up to :data:`EXCHANGES` are under way, of
    different slots. After a reset or a clear it goes over all slots first, one a cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: out; slots are in order
    wants: in; see :func:`wanted_layout`: by bank, what an element waits for; then likewise what one
        will wait for
    answered: out; by bank; what will be waited for is on chip or on its way, or another row to its
        slot
    uses: in; by bank, see :func:`used_layout`
    tags: out; see :func:`tag_write_layout`
    holds, reads, place, values: the row of slot ``place`` is seen in ``values`` a cycle after
        ``reads``, where no element goes on in the cycles of ``holds``; see :class:`ExchangedRows`
    first: out; see :class:`ExchangedRows`
    fetch, fetched: streams of rows' numbers, and of their values in that order
    victims: stream, see :func:`victim_layout`; written: in, see :func:`entry_layout`: it is in
        memory
    flush: in; no element is under way, and none comes: all rows go to memory
    flushed: out, for one cycle: they are there
    missed: out; an exchange begins for an element that waits
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        values = values_layout(config)
        slot = slot_bits(config)
        super().__init__(
            {
                "opens": Out(1),
                "wants": In(data.ArrayLayout(wanted_layout(config), 2 * config.pes)),
                "answered": Out(config.pes),
                "uses": In(data.ArrayLayout(used_layout(config), config.pes)),
                "tags": Out(tag_write_layout(config)),
                "holds": Out(1),
                "reads": Out(1),
                "place": Out(slot),
                "values": In(values),
                "first": Out(data.StructLayout({"valid": 1, "place": slot, "values": values})),
                "fetch": Out(stream.Signature(place_bits(config))),
                "fetched": In(stream.Signature(values)),
                "victims": Out(stream.Signature(victim_layout(config))),
                "written": In(entry_layout()),
                "flush": In(1),
                "flushed": Out(1),
                "missed": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.table = table = ExchangeTable(config)
        m.submodules.rows = rows = ExchangedRows(config)
        for name in ("holds", "reads", "place", "first"):
            m.d.comb += getattr(self, name).eq(getattr(rows, name))
        wiring.connect(m, rows.fetch, wiring.flipped(self.fetch))
        wiring.connect(m, wiring.flipped(self.fetched), rows.fetched)
        wiring.connect(m, rows.victims, wiring.flipped(self.victims))
        # A row that is wanted, or any of a slot that is looked at, and what its slot has.
        row = Signal(place_bits(config))
        has = Signal(tag_layout(config))
        used = Cat(use.valid & (use.slot == table.slot) for use in self.uses).any()
        may_go = Signal()
        goes = Signal()
        sweeps = Signal()
        m.d.comb += [
            rows.values.eq(self.values),
            rows.clear.eq(self.clear),
            table.clear.eq(self.clear),
            table.slot.eq(slot_of(config, row)),
            # Tags of slots have one writer at a time.
            may_go.eq(~table.busy & ~table.full & ~used & ~self.first.valid),
            self.missed.eq(goes & self.opens),
            table.begins.eq(goes),
            table.misses.eq(self.opens),
            table.leaves.eq(has.present),
            table.came.eq(rows.came),
            table.written.eq(self.written),
            rows.begins.valid.eq(goes),
            rows.begins.entry.eq(table.entry),
            rows.begins.row.eq(row),
            rows.begins.missing.eq(self.opens),
            rows.begins.leaves.eq(has.present),
            rows.begins.tag.eq(has.tag),
            self.tags.valid.eq(sweeps | goes | self.first.valid),
            self.tags.slot.eq(Mux(self.first.valid, self.first.place, table.slot)),
            self.tags.has.present.eq(self.first.valid),
            self.tags.has.tag.eq(tag_of(config, rows.here)),
        ]
        following = self._walk(m, row, has, may_go, goes, sweeps, table)
        self._look(m, following, has)
        return m

    def _look(self, m: Module, row: Signal, has: data.View) -> None:
        """Looks up the tag of a row's slot; the result is available a cycle later."""
        config = self.config
        m.submodules.directory = directory = Memory(
            shape=tag_layout(config), depth=1 << slot_bits(config), init=[]
        )
        write = directory.write_port()
        (word,) = reads_with_writes(m, directory, write, {"row": slot_of(config, row)})
        m.d.comb += [
            write.en.eq(self.tags.valid),
            write.addr.eq(self.tags.slot),
            write.data.eq(self.tags.has),
            has.eq(word),
        ]

    def _walk(
        self,
        m: Module,
        row: Signal,
        has: data.View,
        may_go: Signal,
        goes: Signal,
        sweeps: Signal,
        table: ExchangeTable,
    ) -> Signal:
        """Walks the rows that are wanted, or all slots; returns which row is next."""
        config = self.config
        following = Signal.like(row)
        wanted = Signal()
        heard, any_wanted, next_wanted = self._choose(m)
        slot = slot_of(config, row)
        m.d.comb += following.eq(row)
        m.d.sync += [
            row.eq(Mux(self.clear, 0, following)),
            wanted.eq(any_wanted & self.opens & ~self.clear),
        ]
        with m.FSM(name="state", init="SWEEP"):
            with m.State("SWEEP"):
                m.d.comb += [sweeps.eq(1), following.eq(slot + 1)]
                with m.If(slot.all()):
                    m.next = "EXCHANGE"
            with m.State("EXCHANGE"):
                here = has.present & (has.tag == tag_of(config, row))
                m.d.comb += [
                    self.opens.eq(1),
                    goes.eq(wanted & may_go & ~here),
                    following.eq(Mux(self.flush, 0, next_wanted)),
                    self.answered.eq(
                        Cat(
                            wanted & (goes | here | table.busy) & (heard == config.pes + bank)
                            for bank in range(config.pes)
                        )
                    ),
                ]
                with m.If(self.flush):
                    m.next = "FLUSH"
                self._clears(m)
            with m.State("FLUSH"):
                m.d.comb += goes.eq(has.present & may_go)
                with m.If(goes | ~has.present):
                    m.d.comb += following.eq(slot + 1)
                    with m.If(slot.all()):
                        m.next = "SETTLE"
                self._clears(m)
            with m.State("SETTLE"):
                m.d.comb += self.flushed.eq(table.idle)
                with m.If(table.idle):
                    m.next = "EXCHANGE"
                self._clears(m)
        return following

    def _choose(self, m: Module) -> tuple[Signal, Value, Value]:
        """The number of what is heard, if anything is wanted; in turn, what is next, and its
        row."""
        count = len(self.wants)
        heard = Signal(range(count))
        chosen = Signal(range(count))
        wants = Cat(want.valid for want in self.wants)
        later = Cat(0, *(self.wants[n].valid & (heard < n) for n in range(1, count)))
        # The last assignment counts.
        for mask in (wants, later):
            for number in reversed(range(count)):
                with m.If(mask[number]):
                    m.d.comb += chosen.eq(number)
        m.d.sync += heard.eq(chosen)
        return heard, wants.any(), Array(want.place for want in self.wants)[chosen]

    def _clears(self, m: Module) -> None:
        with m.If(self.clear):
            m.next = "SWEEP"
