"""Rows of w on their way from the chip, and to it."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import delay
from ...spec.sida import SidaConfig
from ...stream.queue import DeepQueue
from ...stream.stream_registers import OutputRegister
from ..elementwise.layouts import values_layout
from ..held.layouts import place_bits, slot_bits
from .cached_sums import EXCHANGES, entry_layout, exchange_layout, row_values_layout, slot_of

_UNDER_WAY = 32
"""Most rows not in memory yet: about what a memory accepts while an answer is outstanding."""


def victim_layout(config: SidaConfig) -> data.StructLayout:
    """A ``row`` that leaves the chip, and the number of its exchange, ``entry``."""
    return data.StructLayout(
        {"row": row_values_layout(config), "entry": entry_layout()["entry"].shape}
    )


class RowSpill(wiring.Component):
    """Sends first rows, and rows that leave the chip, to memory, and tracks which are there.

    Rows that leave go first. One row per cycle; latency one cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    first: stream, see :func:`row_values_layout`
    victims: stream, see :func:`victim_layout`
    o: stream, see :func:`row_values_layout`
    written: in, a pulse: the oldest row that has left at ``o``, and for which there was none yet,
        is in memory
    first_written: out; it is a first row
    victim_written: out, see :func:`entry_layout`; the exchange that it is of, if there is one
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        row = row_values_layout(config)
        super().__init__(
            {
                "first": In(stream.Signature(row)),
                "victims": In(stream.Signature(victim_layout(config))),
                "o": Out(stream.Signature(row)),
                "written": In(1),
                "first_written": Out(1),
                "victim_written": Out(entry_layout()),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.left = left = OutputRegister(self.o.payload.shape(), clearable=True)
        # The exchanges of the rows that left.
        m.submodules.owners = owners = DeepQueue(entry_layout(), _UNDER_WAY)
        wiring.connect(m, left.o, wiring.flipped(self.o))
        victim = self.victims.payload
        free = left.i.ready & owners.i.ready
        m.d.comb += [
            left.i.valid.eq((self.first.valid | self.victims.valid) & owners.i.ready),
            left.i.payload.eq(Mux(self.victims.valid, victim.row, self.first.payload)),
            self.victims.ready.eq(free),
            self.first.ready.eq(free & ~self.victims.valid),
            owners.i.valid.eq(left.i.valid & left.i.ready),
            owners.i.payload.valid.eq(self.victims.valid),
            owners.i.payload.entry.eq(victim.entry),
            # There is one for each row.
            owners.o.ready.eq(self.written),
            self.first_written.eq(self.written & ~owners.o.payload.valid),
            self.victim_written.valid.eq(self.written & owners.o.payload.valid),
            self.victim_written.entry.eq(owners.o.payload.entry),
            left.clear.eq(self.clear),
            owners.clear.eq(self.clear),
        ]
        return m


class ExchangedRows(wiring.Component):
    """Reads out the rows that leave, then fetches the missing ones.

    A row that leaves is read as soon as its bank has all that was added to it, and so before the
    missing row arrives.

    Elements that go on until the cycle before ``begins`` are in what is seen: a row is read by
    place as an element's sum is, behind the last that it could follow. The banks wait, and this
    part with them, in the cycles in which a row comes. There must be no more than
    :data:`EXCHANGES` under way, so that no queue is full.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    begins: in; see :func:`exchange_layout`
    holds: out; no element goes on
    reads, place: out; slot ``place`` is read where an element of the cycle of ``holds`` would be
    values: in; a cycle later, its row
    fetch, fetched: streams of rows' numbers, and of their values in that order
    first: out; ``values`` of a row that comes to slot ``place``, if ``valid``
    came: out, with it; see :func:`entry_layout`; here: out, with it; the row's number
    victims: stream, see :func:`victim_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        values, slot = values_layout(config), slot_bits(config)
        super().__init__(
            {
                "begins": In(exchange_layout(config)),
                "holds": Out(1),
                "reads": Out(1),
                "place": Out(slot),
                "values": In(values),
                "fetch": Out(stream.Signature(place_bits(config))),
                "fetched": In(stream.Signature(values)),
                "first": Out(data.StructLayout({"valid": 1, "place": slot, "values": values})),
                "came": Out(entry_layout()),
                "here": Out(place_bits(config)),
                "victims": Out(stream.Signature(victim_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        times, adds = config.multiplier_stages, config.adder_stages
        advance = Signal()
        under_way = Signal(adds + times + 1)
        with m.If(self.clear):
            m.d.sync += under_way.eq(0)
        with m.Elif(advance):
            m.d.sync += under_way.eq(Cat(self.begins.valid, under_way))
        # Earlier additions are written when the last stage but one is read.
        exchanges = [self.begins]
        for stage in range(len(under_way)):
            exchanges.append(delay(m, exchanges[-1], 1, advance, f"exchange_{stage}"))
        entering, reading, seen = adds - 1, adds + times - 1, exchanges[-1]
        m.d.comb += [
            advance.eq(~self.first.valid),
            self.holds.eq(under_way[entering] & exchanges[1 + entering].leaves),
            self.reads.eq(under_way[reading] & exchanges[1 + reading].leaves),
            self.place.eq(slot_of(config, exchanges[1 + reading].row)),
        ]
        self._move(m, under_way[-1] & advance, seen)
        return m

    def _move(self, m: Module, moves: Value, seen: data.View) -> None:
        """Sends rows that leave to memory, and fetches missing ones. All queues have capacity."""
        config = self.config
        m.submodules.left = left = DeepQueue(victim_layout(config), EXCHANGES)
        m.submodules.asked = asked = DeepQueue(place_bits(config), EXCHANGES)
        m.submodules.missing = missing = DeepQueue(exchange_layout(config), EXCHANGES)
        for queue in (left, asked, missing):
            m.d.comb += queue.clear.eq(self.clear)
        wiring.connect(m, left.o, wiring.flipped(self.victims))
        wiring.connect(m, asked.o, wiring.flipped(self.fetch))
        victim, found = left.i.payload, missing.o.payload
        m.d.comb += [
            left.i.valid.eq(moves & seen.leaves),
            victim.entry.eq(seen.entry),
            victim.row.place.eq(Cat(slot_of(config, seen.row), seen.tag)),
            victim.row["values"].eq(self.values),
            asked.i.valid.eq(moves & seen.missing),
            asked.i.payload.eq(seen.row),
            missing.i.valid.eq(moves & seen.missing),
            missing.i.payload.eq(seen),
            self.first.valid.eq(missing.o.valid & self.fetched.valid),
            self.first.place.eq(slot_of(config, found.row)),
            self.first["values"].eq(self.fetched.payload),
            missing.o.ready.eq(self.fetched.valid),
            self.fetched.ready.eq(missing.o.valid),
            self.came.valid.eq(self.first.valid),
            self.came.entry.eq(found.entry),
            self.here.eq(found.row),
        ]
