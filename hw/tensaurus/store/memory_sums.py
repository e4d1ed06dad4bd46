"""Sums in memory: units are read, added to, and written, many at a time."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import supervise
from ...channels.striped_reader import StripedReader
from ...spec.tensaurus import TensaurusConfig
from ...stream.queue import DeepQueue
from ...stream.ring import moved_count, ring_address
from ...stream.stream_registers import SkidBuffer
from ...stream.valid_pipeline import ValidPipeline
from ..load.lines import connect_bus, line_reader, reader_members
from .output_buffer import adding_cycles, output_extent, slot_read_layout, unit_number_bits


def unit_of_lines(m: Module, config: TensaurusConfig, lines: stream.Interface) -> Value:
    """Joins the lines of a unit, whose last line is at the input; earlier lines are kept when they
    are accepted."""
    bits = config.unit_values * config.sum_format.bits
    parts: list[Value] = [lines.payload.data]
    for number in range(config.unit_lines - 1):
        kept = Signal(8 * config.line_bytes, name=f"line_{number}", reset_less=True)
        with m.If(lines.valid & lines.ready):
            m.d.sync += kept.eq(parts[0])
        parts.insert(0, kept)
    return Cat(parts)[:bits]


class UnitLines(wiring.Component):
    """Reads sums in the order of their slots, and sends each as whole lines.

    A line a cycle.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    sums: in, a pulse: one more can be read
    read: out; see :func:`slot_read_layout`
    unit: in; what was read, from a cycle after ``read`` until the next
    lines: stream; what is behind a unit is anything
    sent: out; bytes of the unit in the line that is accepted in this cycle
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "sums": In(1),
                "read": Out(slot_read_layout(config)),
                "unit": In(config.unit_values * config.sum_format.bits),
                "lines": Out(stream.Signature(8 * config.line_bytes)),
                "sent": Out(range(config.line_bytes + 1)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, read = self._config, self.read
        last = config.unit_lines - 1
        sums = Signal(range(config.memory_slots + 1))
        valid = Signal()
        taken = Signal()
        ends = Signal()
        slot = ring_address(m, "slot", config.memory_slots, advance=read.valid, clear=self.clear)
        line = ring_address(m, "line", config.unit_lines, advance=taken, clear=self.clear)
        rest = config.result_unit_bytes - last * config.line_bytes
        m.d.comb += [
            ends.eq(line == last),
            taken.eq(valid & self.lines.ready),
            read.valid.eq((sums != 0) & (~valid | (taken & ends))),
            read.slot.eq(slot),
            self.lines.valid.eq(valid),
            self.lines.payload.eq(
                self.unit.word_select(line, 8 * config.line_bytes) if last else self.unit
            ),
            self.sent.eq(Mux(taken, Mux(ends, rest, config.line_bytes), 0)),
        ]
        m.d.sync += [
            valid.eq(read.valid | (valid & ~(taken & ends))),
            sums.eq(moved_count(sums, self.sums, read.valid)),
        ]
        with m.If(self.clear):
            m.d.sync += [valid.eq(0), sums.eq(0)]
        return m


class Hazards(wiring.Component):
    """Blocks an address, and those after it, while an earlier access to the same address is in
    flight. An access is in flight until as many were ``done`` as were passed on before it, and
    itself.

    No latency, one a cycle. An address that was done may pass in the cycle after.

    Parameters
    ----------
    bits: width of an address
    slots: addresses that are in flight at most; the sender counts them

    Members
    -------
    i, o: streams of addresses
    done: in, a pulse: the oldest is no longer in flight
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


class UnitAnswers(wiring.Component):
    """Matches the responses of all channels with their lines, in order.

    A unit is done when each block of each of its lines was answered. One line a cycle.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    wrote: in; of each channel, whether it gets a block of the line that is accepted in this cycle
    answered: in; of each channel, whether it answers a block
    done: out, a pulse: one more unit is in memory
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        channels = config.channels
        super().__init__(
            {"wrote": In(channels), "answered": In(channels), "done": Out(1), "clear": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        lines = config.memory_slots * config.unit_lines
        m.submodules.written = written = DeepQueue(config.channels, lines)
        there = Signal(config.channels)
        goes = Signal()
        for channel in range(config.channels):
            answers = Signal(range(lines + 2), name=f"answers_{channel}")
            m.d.comb += there[channel].eq(answers != 0)
            used = goes & written.o.payload[channel]
            m.d.sync += answers.eq(moved_count(answers, self.answered[channel], used))
            with m.If(self.clear):
                m.d.sync += answers.eq(0)
        m.d.comb += [
            written.clear.eq(self.clear),
            written.i.valid.eq(Cat(self.wrote).any()),
            written.i.payload.eq(self.wrote),
            goes.eq(written.o.valid & (there | ~written.o.payload).all()),
            written.o.ready.eq(goes),
            self.done.eq(goes),
        ]
        if config.unit_lines > 1:
            line = ring_address(m, "line", config.unit_lines, advance=goes, clear=self.clear)
            m.d.comb += self.done.eq(goes & (line == config.unit_lines - 1))
        return m


class MemorySums(wiring.Component):
    """Adds the vectors of rows to units in memory, in the order in which the rows send them.

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
    sent: out; bytes of units in the line that is accepted in this cycle
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
        # Between the memory's access and the comparisons.
        m.submodules.next_unit = next_unit = SkidBuffer(bits, clearable=True)
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
        wiring.connect(m, units.o, next_unit.i)
        wiring.connect(m, next_unit.o, hazards.i)
        asked, extent = reader.request.payload, self.request.payload
        # There is room for all that have slots.
        m.d.comb += [
            units.clear.eq(forgets),
            next_unit.clear.eq(forgets),
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
