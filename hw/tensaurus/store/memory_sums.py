"""Sums in memory: units are read, added to, and written, many at a time."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.supervision import supervise
from ...channels.striped_reader import StripedReader
from ...spec.tensaurus import TensaurusConfig
from ...stream.deep_queue import DeepQueue
from ...stream.ring import moved_count, ring_address
from ...stream.valid_pipeline import ValidPipeline
from ..load.lines import connect_bus, line_reader, reader_members
from .hazards import Hazards
from .layouts import slot_read_layout, unit_number_bits
from .output_walk import output_extent
from .store_column import adding_cycles
from .unit_answers import UnitAnswers
from .unit_lines import UnitLines, unit_of_lines

__all__ = ["MemorySums"]


class MemorySums(wiring.Component):
    """Adds the vectors of rows to units in memory, in the order in which rows give them.

    A vector that leaves a row has one of ``memory_slots`` slots until memory has answered the write
    of its sum. The columns keep it there; its unit is read, at once unless the same unit is under
    way (:class:`Hazards`); the columns add the two, and keep the sum at the same place of the other
    side of the buffer, from where it is written. A unit begins with a line. A unit a cycle, as long
    as there are slots and memory delivers.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    active: in; the job adds in memory; constant while it runs
    start: in, a pulse: a job begins
    leaves: in; a vector leaves a row; it is at ``drained`` two cycles later
    hold: out; none must
    base: in; address of the output; constant from a tile's first vector to a cycle after its last
    drained: in; the columns get a vector in the next cycle
    slot: out; its slot
    number: in; a cycle after ``drained``: of its unit
    read: out; see :func:`slot_read_layout`: what column and memory add; with it
    unit: out; the unit from memory
    sum_read: out; of the sum that is written
    sum: in; it, a cycle later
    request, lines: to a :class:`StripedWriter`
    wrote, answered: in; see :class:`UnitAnswers`
    sent: out; bytes of units in the line that is taken in this cycle
    empty: out; all sums are in memory
    ar, r: of each channel (arrays)
    stop, idle, error, error_address: of the reads, see :class:`Supervision`
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        unit_bits = config.unit_values * config.sum_format.bits
        super().__init__(
            {
                **{name: In(1) for name in ("active", "start", "leaves", "drained")},
                "hold": Out(1),
                "base": In(config.addr_bits),
                "slot": Out(range(config.memory_slots)),
                "number": In(unit_number_bits(config)),
                "read": Out(slot_read_layout(config)),
                "unit": Out(unit_bits),
                "sum_read": Out(slot_read_layout(config)),
                "sum": In(unit_bits),
                "request": Out(stream.Signature(output_extent(config))),
                "lines": Out(stream.Signature(8 * config.line_bytes)),
                "wrote": In(config.channels),
                "answered": In(config.channels),
                "sent": Out(range(config.line_bytes + 1)),
                "empty": Out(1),
                **reader_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        slots = config.memory_slots
        m.submodules.reader = reader = line_reader(
            config, config.memory_reads, requests=max(2, slots)
        )
        m.submodules.answers = answers = UnitAnswers(config)
        m.submodules.sums = sums = UnitLines(config)
        forgets = Signal()
        used = Signal(range(slots + 1))
        slot = ring_address(
            m, "next_slot", slots, advance=self.drained & self.active, clear=forgets
        )
        m.d.comb += [
            # Before a job nothing is owed any more.
            forgets.eq(self.stop | self.start),
            self.slot.eq(slot),
            self.hold.eq(self.active & (used == slots)),
            self.empty.eq(used == 0),
            answers.clear.eq(forgets),
            answers.wrote.eq(self.wrote),
            answers.answered.eq(self.answered & self.active.replicate(config.channels)),
            sums.clear.eq(forgets),
            self.sum_read.eq(sums.read),
            sums.unit.eq(self.sum),
            self.sent.eq(sums.sent),
        ]
        m.d.sync += used.eq(moved_count(used, self.leaves & self.active, answers.done))
        with m.If(forgets):
            m.d.sync += used.eq(0)
        wiring.connect(m, sums.lines, wiring.flipped(self.lines))
        self._ask(m, reader, answers.done, forgets)
        self._add(m, reader, sums, forgets)
        supervise(m, self, [reader])
        connect_bus(m, self, reader)
        return m

    def _ask(self, m: Module, reader: StripedReader, done: Value, forgets: Value) -> None:
        """The address of each unit to the reader, and to the writer, which may have it long before
        the sum."""
        config = self._config
        shift = config.line_bytes.bit_length() - 1
        bits = config.addr_bits - shift
        slots = config.memory_slots
        m.submodules.units = units = DeepQueue(bits, slots)
        m.submodules.hazards = hazards = Hazards(bits, slots)
        m.submodules.extents = extents = DeepQueue(bits, slots)
        comes = Signal()
        found = Signal()
        line = Signal(bits, reset_less=True)
        m.d.sync += [
            comes.eq(self.drained & self.active & ~forgets),
            found.eq(comes & ~forgets),
            line.eq(self.base[shift:] + self.number * config.unit_lines),
        ]
        wiring.connect(m, units.o, hazards.i)
        asked, extent = reader.request.payload, self.request.payload
        # There is room for all that have slots.
        m.d.comb += [
            units.clear.eq(forgets),
            hazards.clear.eq(forgets),
            extents.clear.eq(forgets),
            hazards.done.eq(done),
            units.i.valid.eq(found),
            units.i.payload.eq(line),
            reader.request.valid.eq(hazards.o.valid),
            hazards.o.ready.eq(reader.request.ready),
            asked.address.eq(Cat(Const(0, shift), hazards.o.payload)),
            asked.bytes.eq(config.result_unit_bytes),
            extents.i.valid.eq(hazards.o.valid & hazards.o.ready),
            extents.i.payload.eq(hazards.o.payload),
            self.request.valid.eq(extents.o.valid),
            extents.o.ready.eq(self.request.ready),
            extent.address.eq(Cat(Const(0, shift), extents.o.payload)),
            extent.bytes.eq(config.result_unit_bytes),
        ]

    def _add(self, m: Module, reader: StripedReader, sums: UnitLines, forgets: Value) -> None:
        """Units from memory to the columns, when these have the vectors."""
        config, slots = self._config, self._config.memory_slots
        m.submodules.landing = landing = ValidPipeline(config.cols + 1)
        m.submodules.adding = adding = ValidPipeline(adding_cycles(config))
        there = Signal(range(slots + 1))
        adds = Signal()
        slot = ring_address(m, "read_slot", slots, advance=adds, clear=forgets)
        lines = reader.o
        m.d.comb += [
            landing.i.eq(self.drained & self.active),
            adding.i.eq(adds),
            sums.sums.eq(adding.o),
            adds.eq(lines.valid & lines.payload.last & (there != 0)),
            lines.ready.eq(~lines.payload.last | (there != 0)),
            self.unit.eq(unit_of_lines(m, config, lines)),
            self.read.valid.eq(adds),
            self.read.slot.eq(slot),
        ]
        for pipeline in (landing, adding):
            m.d.comb += [pipeline.advance.eq(1), pipeline.clear.eq(forgets)]
        m.d.sync += there.eq(moved_count(there, landing.o, adds))
        with m.If(forgets):
            m.d.sync += there.eq(0)
