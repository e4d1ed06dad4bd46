"""A column of the output buffer: two sides, and the adders before them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import ScalarSum, delay
from ...channels.striped_writer import extent_layout
from ...spec.tensaurus import TensaurusConfig
from ...stream.gearbox import Gearbox


def unit_number_bits(config: TensaurusConfig) -> int:
    """Width of the number of a unit in an output."""
    return (config.slice_numbers * config.olen - 1).bit_length()


def addend_layout(config: TensaurusConfig) -> data.StructLayout:
    """Addend of a column, which passes it on to the next column a cycle later.

    ``valid``; the unit's ``address``; ``single``: a ``value`` alone, to lane ``place`` of this
    column, or of a later one if it has not so many; else the column's own vector. Of a job that
    adds in memory the vector is kept at the address, which is its slot.
    """
    fields: dict[str, ShapeLike] = {
        "valid": 1,
        "address": range(config.out_units),
        "single": 1,
        "place": range(max(2, config.unit_values)),
        "value": config.sum_format.bits,
    }
    return data.StructLayout(fields)


def walk_layout(config: TensaurusConfig) -> data.StructLayout:
    """Walk over the side that nothing is added to: it is read, and set to the identity; ``both``:
    the other side is set, too."""
    address = range(config.out_units)
    return data.StructLayout(
        {"read": 1, "read_address": address, "clear": 1, "clear_address": address, "both": 1}
    )


def slot_read_layout(config: TensaurusConfig) -> data.StructLayout:
    """Read of a ``slot``, where it is ``valid``: of the vectors that the rows sent, or of the
    sums."""
    return data.StructLayout({"valid": 1, "slot": range(config.memory_slots)})


def _side_read_layout(config: TensaurusConfig) -> data.StructLayout:
    """Read of a side's ``address``, where it is ``valid``."""
    return data.StructLayout({"valid": 1, "address": range(config.out_units)})


def _side_write_layout(config: TensaurusConfig) -> data.StructLayout:
    """Write of the ``lanes`` that are set, at an address of a side."""
    values = data.ArrayLayout(config.sum_format.bits, config.vlen)
    return data.StructLayout(
        {"lanes": config.vlen, "address": range(config.out_units), "data": values}
    )


_READ = 2
"""Cycles of a read: a register behind the memory keeps its access time out of the adders' path."""


def settling_cycles(config: TensaurusConfig) -> int:
    """Cycles after which a vector that entered column 0 is in the buffer of every column."""
    return config.cols + _READ + config.adder_stages + 3


def adding_cycles(config: TensaurusConfig) -> int:
    """Cycles from ``read`` to the first in which the sum can be read."""
    return _READ + config.adder_stages + 1


class StoreColumn(wiring.Component):
    """Reads, adds and writes one vector per cycle in one side; the other side is read and cleared.

    An address must not come again before its sum is written, :func:`settling_cycles` later, unless
    for other lanes. ``o`` is there a cycle after ``walk.read`` and stays until the next.

    With ``direct`` vectors are only kept in the one side; each is read there once, with ``read``,
    and its sum with ``given`` goes to the same address of the other side.

    Source: Tensaurus, the matrix store unit and its double buffer.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    side: which side is added to; changes only while nothing is in flight
    i: see :func:`addend_layout`
    onward: the same for the next column, a cycle later
    vector: what the column adds; a cycle before ``i``
    direct: constant while anything is in flight
    read: see :func:`slot_read_layout`
    given: what is added then
    walk: see :func:`walk_layout`
    o: the vector that was read
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        bits = config.vlen * config.sum_format.bits
        super().__init__(
            {
                "side": In(1),
                "i": In(addend_layout(config)),
                "onward": Out(addend_layout(config)),
                "vector": In(bits),
                "direct": In(1),
                "read": In(slot_read_layout(config)),
                "given": In(bits),
                "walk": In(walk_layout(config)),
                "o": Out(bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, bits = self._config, self._config.sum_format.bits
        lanes = Signal(config.vlen)
        place = self.i.place
        m.d.comb += lanes.eq(
            Mux(self.i.single, Cat(place == n for n in range(config.vlen)), Const(-1, config.vlen))
        )
        self._pass_on(m)
        # A vector, or one value to all lanes, of which one is written.
        vector = Signal(len(self.vector), reset_less=True)
        addend = Signal(len(self.vector), reset_less=True)
        m.d.sync += [
            vector.eq(self.vector),
            addend.eq(Mux(self.i.single, self.i.value.replicate(config.vlen), vector)),
        ]
        with m.If(self.direct):
            m.d.sync += addend.eq(self.given)
        sums = Signal(data.ArrayLayout(bits, config.vlen))
        held = Signal(data.ArrayLayout(bits, config.vlen))
        summand = delay(m, addend, _READ - 1, Const(1, 1), "summand")
        for lane in range(config.vlen):
            adder = ScalarSum(config.operators, config.sum_format, config.adder_stages)
            m.submodules[f"adder_{lane}"] = adder
            m.d.comb += [
                adder.a.eq(held[lane]),
                adder.b.eq(summand.word_select(lane, bits)),
                adder.advance.eq(1),
                sums[lane].eq(adder.o),
            ]
        reads = Mux(self.direct, self.read.valid, self.i.valid)
        read_address = Mux(self.direct, self.read.slot, self.i.address)
        # Only the write enables have a reset.
        writes = Mux(reads, lanes | self.direct.replicate(config.vlen), 0)
        for stage in range(_READ + config.adder_stages):
            register = Signal(config.vlen, name=f"writes_{stage}")
            m.d.sync += register.eq(writes)
            writes = register
        one = Const(1, 1)
        address = delay(m, read_address, _READ + config.adder_stages, one, "address")
        sides = []
        for number in range(2):
            added = Signal(name=f"added_{number}")
            read = Signal(_side_read_layout(config), name=f"read_{number}")
            m.d.comb += [
                added.eq(self.side == number),
                read.valid.eq(Mux(added, reads, self.walk.read)),
                read.address.eq(Mux(added, read_address, self.walk.read_address)),
            ]
            write = self._write(m, number, added, vector, writes, address, Cat(sums))
            sides.append(self._side(m, number, read, write))
        m.d.comb += [
            held.eq(delay(m, Mux(self.side, sides[1], sides[0]), _READ - 1, one, "old")),
            self.o.eq(Mux(self.side, sides[0], sides[1])),
        ]
        return m

    def _pass_on(self, m: Module) -> None:
        """Passes the addend on to the next column, which counts places from its own first lane."""
        config, onward = self._config, self.onward
        m.d.sync += [
            onward.valid.eq(self.i.valid & (~self.i.single | (self.i.place >= config.vlen))),
            onward.address.eq(self.i.address),
            onward.single.eq(self.i.single),
            onward.place.eq(self.i.place - config.vlen),
            onward.value.eq(self.i.value),
        ]

    def _side(self, m: Module, number: int, read: Any, write: Any) -> Value:
        """A side, a memory a lane, which is faster than one of all lanes; returns what was read."""
        config = self._config
        found = []
        for lane in range(config.vlen):
            m.submodules[f"side_{number}_{lane}"] = memory = Memory(
                shape=unsigned(config.sum_format.bits), depth=config.out_units, init=[]
            )
            reading, writing = memory.read_port(), memory.write_port()
            m.d.comb += [
                reading.en.eq(read.valid),
                reading.addr.eq(read.address),
                writing.en.eq(write.lanes[lane]),
                writing.addr.eq(write.address),
                writing.data.eq(write.data[lane]),
            ]
            found.append(reading.data)
        return Cat(found)

    def _write(
        self,
        m: Module,
        number: int,
        added: Value,
        vector: Value,
        writes: Value,
        address: Value,
        sums: Value,
    ) -> Any:
        """What a side writes: the identity, a vector to keep, or lanes of sums."""
        config, walk = self._config, self.walk
        bits = config.sum_format.bits
        identity = config.operators.identity_in(config.sum_format)
        assert identity is not None
        write = Signal(_side_write_layout(config), name=f"write_{number}")
        clears = Signal(name=f"clears_{number}")
        keeps = Signal(name=f"keeps_{number}")
        sums_go = Mux(self.direct, ~added, added)
        whole = Const(-1, config.vlen)
        kept = Mux(keeps, vector, sums)
        m.d.comb += [
            clears.eq(walk.clear & (walk.both | ~added)),
            keeps.eq(self.direct & added & self.i.valid),
            write.lanes.eq(Mux(clears | keeps, whole, Mux(sums_go, writes, 0))),
            write.address.eq(Mux(clears, walk.clear_address, Mux(keeps, self.i.address, address))),
            write.data.eq(Mux(clears, Const(identity, bits).replicate(config.vlen), kept)),
        ]
        return write


def output_extent(config: TensaurusConfig) -> data.StructLayout:
    """Memory that a side's result occupies at most: ``address`` and ``bytes``."""
    return extent_layout(config.geometry, config.out_bytes.bit_length())


class OutputWalk(wiring.Component):
    """Reads a side from its first unit on, sends its first bytes as lines, and sets every unit that
    it passes to the identity.

    A unit a cycle as long as lines are accepted; after the last byte, too.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    start: in, a pulse, while not ``busy``
    extent: with ``start``: what is written, see :func:`output_extent`
    units: with ``start``: how many units are set to the identity, those that are written besides
    busy: out; not all units are set, or not all lines are accepted
    walk: see ``walk_layout``; a read and its clearing are a cycle apart
    unit: the unit that was read, a cycle after ``read``
    request, lines: to a :class:`StripedWriter`
    sent: out; bytes of the line that is accepted in this cycle
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "extent": In(output_extent(config)),
                "units": In(range(config.out_units + 1)),
                "busy": Out(1),
                "walk": Out(walk_layout(config)),
                "unit": In(config.unit_values * config.sum_format.bits),
                "request": Out(stream.Signature(output_extent(config))),
                "lines": Out(stream.Signature(8 * config.line_bytes)),
                "sent": Out(range(config.line_bytes + 1)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, walk = self._config, self.walk
        unit_bytes, line_bytes = config.result_unit_bytes, config.line_bytes
        line_count = (config.out_bytes // line_bytes + 1).bit_length()
        m.submodules.gearbox = gears = Gearbox(unit_bytes, (line_bytes,), line_count)
        extent = Signal(output_extent(config), reset_less=True)
        asks = Signal()
        at = Signal(range(config.out_units + 1))
        units = Signal(range(config.out_units + 1))
        # Bytes that are still to be read, and that are still to be taken.
        unread = Signal(len(extent.bytes))
        owed = Signal(len(extent.bytes))
        valid = Signal()
        reads = Signal()
        clears = Signal()
        cleared = Signal(range(config.out_units), reset_less=True)
        takes = Signal()
        ends = Signal()
        m.d.comb += [
            self.request.valid.eq(asks),
            self.request.payload.eq(extent),
            reads.eq((unread != 0) & (gears.lines.ready | ~valid)),
            walk.read.eq(reads),
            walk.read_address.eq(at),
            walk.clear.eq(clears),
            walk.clear_address.eq(cleared),
            # Behind the last byte anything fills the last line.
            gears.lines.valid.eq(valid | ((unread == 0) & (owed != 0))),
            gears.lines.payload.eq(self.unit),
            gears.request.valid.eq(owed != 0),
            # As many as there may be; the last one ends them.
            gears.request.payload.count.eq(Const(-1, line_count)),
            self.lines.valid.eq(gears.o.valid & (owed != 0)),
            self.lines.payload.eq(gears.o.payload.data),
            gears.o.ready.eq(self.lines.ready & (owed != 0)),
            takes.eq(self.lines.valid & self.lines.ready),
            ends.eq(owed <= line_bytes),
            gears.clear.eq(self.clear | (takes & ends)),
            # Reads may pass the last unit that was added to.
            self.busy.eq(asks | (at < units) | (owed != 0) | clears),
        ]
        with m.If(takes):
            m.d.comb += self.sent.eq(Mux(ends, owed, line_bytes))
            m.d.sync += owed.eq(Mux(ends, 0, owed - line_bytes))
        with m.If(self.request.ready):
            m.d.sync += asks.eq(0)
        steps = reads | ((unread == 0) & (at < units))
        m.d.sync += [
            valid.eq(reads | (valid & ~gears.lines.ready)),
            clears.eq(steps),
            cleared.eq(at),
        ]
        with m.If(steps):
            m.d.sync += at.eq(at + 1)
        with m.If(reads):
            m.d.sync += unread.eq(Mux(unread <= unit_bytes, 0, unread - unit_bytes))
        with m.If(self.start):
            m.d.sync += [
                asks.eq(1),
                extent.eq(self.extent),
                at.eq(0),
                units.eq(self.units),
                unread.eq(self.extent.bytes),
                owed.eq(self.extent.bytes),
            ]
        with m.If(self.clear):
            m.d.sync += [
                asks.eq(0),
                at.eq(0),
                units.eq(0),
                unread.eq(0),
                owed.eq(0),
                valid.eq(0),
                clears.eq(0),
            ]
        return m
