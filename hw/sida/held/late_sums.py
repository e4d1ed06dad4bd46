"""A bank of w: what it begins with, and what is added one by one."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import delay
from ...spec.sida import SidaConfig
from ...stream.ring import reads_with_writes
from ..layouts import count_bits, results_layout
from ..operators import SelectedProduct, SelectedSum, identity, semiring_range
from .layouts import line_rows, place_bits, row_bits, sided_layout, slot_bits, slotted_layout


class SumRows(wiring.Component):
    """Reads w out of :class:`HeldElements`, ``pes`` elements at a time, a row a cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: begins with the first row
    columns: in; elements of w, at least 1
    place: out; which row is asked for
    w: in; a cycle later, it
    o: rows of w, in order
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        values = data.ArrayLayout(config.format.bits, config.pes)
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "place": Out(place_bits(config)),
                "w": In(values),
                "o": Out(stream.Signature(values)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = self.config.pes.bit_length() - 1
        row = Signal(place_bits(self.config))
        there = Signal()
        takes = Signal()
        last = Signal()
        m.d.comb += [
            self.o.valid.eq(there),
            self.o.payload.eq(self.w),
            takes.eq(there & self.o.ready),
            last.eq(row == (self.columns - 1)[shift : len(self.columns)]),
            self.place.eq(Mux(self.start, 0, Mux(takes, row + 1, row))),
        ]
        m.d.sync += row.eq(self.place)
        with m.If(self.clear | (takes & last)):
            m.d.sync += there.eq(0)
        with m.Elif(self.start):
            m.d.sync += there.eq(1)
        return m


class EmptyValues(wiring.Component):
    """Writes the result of a column without elements to all columns, ``pes`` per cycle.

    It begins in the cycle after ``start``.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse
    columns, semiring: in; so many, at least 1, and the number of the semiring among
        ``config.operators``; constant from ``start`` on
    valid, results: out; see :func:`results_layout`, columns ascending; the last ones may be behind
        ``columns``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "semiring": In(semiring_range(config.operators)),
                "valid": Out(1),
                "results": Out(results_layout(config)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, results = self.config, self.results
        nothing = Signal(config.format.bits)
        behind = Signal(count_bits(config) + 1)
        m.d.comb += [
            nothing.eq(identity(config.operators, config.format, self.semiring)),
            results.columns.eq(config.pes),
            *(value.eq(nothing) for value in results.values),
            behind.eq(results.base + config.pes),
        ]
        with m.If(self.valid):
            m.d.sync += [results.base.eq(behind), self.valid.eq(behind < self.columns)]
        with m.If(self.start):
            m.d.sync += [results.base.eq(0), self.valid.eq(1)]
        with m.If(self.clear):
            m.d.sync += self.valid.eq(0)
        return m


def first_layout(config: SidaConfig) -> data.StructLayout:
    """A value that begins an element of w, at its place in the bank."""
    return data.StructLayout({"valid": 1, "place": slot_bits(config), "value": config.format.bits})


class FirstValues(wiring.Component):
    """Sends column j's value to bank j % pes. It never waits; latency one cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: in; a pass begins
    valid, results: in; see :func:`results_layout`, columns ascending
    banks: out; by bank, see :func:`first_layout`
    columns: out; so many are with the banks, those of this cycle included
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "opens": In(1),
                "valid": In(1),
                "results": In(results_layout(config)),
                "banks": Out(data.ArrayLayout(first_layout(config), config.pes)),
                "columns": Out(count_bits(config)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes, given = self.config.pes, self.results
        lanes = (pes - 1).bit_length()
        shift = given.base[:lanes]
        values = [Cat(value) for value in given.values]
        for bit in range(lanes):
            step = 1 << bit
            turned = []
            for lane in range(pes):
                value = Signal(self.config.format.bits, name=f"turned_{bit}_{lane}")
                m.d.comb += value.eq(Mux(shift[bit], values[(lane - step) % pes], values[lane]))
                turned.append(value)
            values = turned
        for lane, (bank, value) in enumerate(zip(self.banks, values, strict=True)):
            offset = Signal(lanes, name=f"offset_{lane}")
            m.d.comb += offset.eq(lane - shift)
            m.d.sync += [
                bank.valid.eq(self.valid & (offset < given.columns)),
                bank.place.eq(given.base[lanes:] + ((lane < shift) if lane < pes - 1 else 0)),
                bank.value.eq(value),
            ]
        with m.If(self.valid):
            m.d.sync += self.columns.eq(given.base + given.columns)
        with m.If(self.opens | self.clear):
            m.d.sync += [self.columns.eq(0), *(bank.valid.eq(0) for bank in self.banks)]
        return m


def line_layout(config: SidaConfig) -> data.StructLayout:
    """Rows of z that are written: their ``side`` and ``line`` in it, and ``values``."""
    return data.StructLayout(
        {
            "valid": 1,
            "side": 1,
            "line": range(max(2, line_rows(config))),
            "values": data.ArrayLayout(config.format.bits, config.pes),
        }
    )


class LateSums(wiring.Component):
    """Computes ``w[place] = w[place] (+) z[row] (x) value`` in the order of arrival.

    An element a cycle; those of one place follow each other as many cycles apart as the adder has:
    a sum goes on to the next one as it is written. All wait while a first value is written. Latency
    1 and those of multiplier and adder.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    semiring: in; its number among ``config.operators``, constant during a pass
    i: stream of elements, see :func:`sided_layout`
    z: in; see :func:`line_layout`; a side that is written must not be read
    first: in; see :func:`first_layout`
    reads, place: in; of the element to be seen, while nothing is on its way, or in the cycle in
        which an element's sum would be read, had one come as many cycles before
    value: out; a cycle later, it
    idle: out; nothing is on its way
    clear: in; forgets what is on its way
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "semiring": In(semiring_range(config.operators)),
                "i": In(stream.Signature(sided_layout(slotted_layout(config)))),
                "z": In(line_layout(config)),
                "first": In(first_layout(config)),
                "reads": In(1),
                "place": In(slot_bits(config)),
                "value": Out(config.format.bits),
                "idle": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, late = self.config, self.i.payload.late
        times, adds = config.multiplier_stages, config.adder_stages
        advance = Signal()
        meets = Signal()
        enters = Signal()
        under_way = Signal(1 + times + adds)
        places = [late.place]
        for stage in range(len(under_way)):
            places.append(delay(m, places[-1], 1, advance, f"place_{stage}"))
        # The sums that the next one could not begin with in time.
        recent = zip(under_way[: adds - 1], places[1:adds], strict=True)
        # The sum before is written when this one begins.
        follows = Signal()
        with m.If(advance):
            m.d.sync += follows.eq(
                under_way[times + adds - 1] & (places[times + adds] == places[times])
            )
        m.d.comb += [
            advance.eq(~self.first.valid),
            meets.eq(Cat(0, *(valid & (place == late.place) for valid, place in recent)).any()),
            self.i.ready.eq(advance & ~meets),
            enters.eq(self.i.valid & self.i.ready),
            self.idle.eq(under_way == 0),
        ]
        with m.If(self.clear):
            m.d.sync += under_way.eq(0)
        with m.Elif(advance):
            m.d.sync += under_way.eq(Cat(enters, under_way))
        m.submodules.product = product = SelectedProduct(config.operators, config.format, times)
        m.submodules.sum = total = SelectedSum(config.operators, config.format, adds)
        for part in (product, total):
            m.d.comb += [part.semiring.eq(self.semiring), part.advance.eq(advance)]
        m.d.comb += [
            product.a.eq(self._operand(m, advance)),
            product.b.eq(delay(m, late.value, 1, advance, "value")),
            total.b.eq(product.o),
        ]
        m.submodules.w = w = Memory(
            shape=unsigned(config.format.bits), depth=1 << slot_bits(config), init=[]
        )
        write = w.write_port()
        place = Signal(slot_bits(config))
        (found,) = reads_with_writes(m, w, write, {"sum": place}, advance)
        m.d.comb += [
            place.eq(Mux(self.reads, self.place, places[times])),
            total.a.eq(Mux(follows, total.o, found)),
            self.value.eq(found),
            write.en.eq(self.first.valid | under_way[-1]),
            write.addr.eq(Mux(self.first.valid, self.first.place, places[-1])),
            write.data.eq(Mux(self.first.valid, self.first.value, total.o)),
        ]
        return m

    def _operand(self, m: Module, advance: Signal) -> Value:
        """Returns the element of z that multiplies the element which has entered."""
        config = self.config
        width, lines = config.pes * config.format.bits, line_rows(config)
        lanes = (config.pes - 1).bit_length()
        m.submodules.z = z = Memory(shape=unsigned(width), depth=2 * lines, init=[])
        write, read = z.write_port(), z.read_port()
        row = self.i.payload.late.row
        lane = delay(m, row[:lanes], 1, advance, "lane")
        m.d.comb += [
            write.en.eq(self.z.valid),
            write.addr.eq(Cat(self.z.line[: row_bits(config) - lanes], self.z.side)),
            write.data.eq(self.z.values.as_value()),
            read.en.eq(advance),
            read.addr.eq(Cat(row[lanes:], self.i.payload.side)),
        ]
        return read.data.word_select(lane, config.format.bits)
