"""The store side: sums of slices added up tile by tile, and written to memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import address_layout, response_layout, write_layout
from ...channels.striped_writer import StripedWriter
from ...spec.tensaurus import KERNELS, TensaurusConfig
from ..layouts import drain_layout, job_layout, tile_layout
from ..load.lines import reader_members
from .memory_sums import MemorySums
from .output_buffer import (
    OutputWalk,
    StoreColumn,
    addend_layout,
    output_extent,
    settling_cycles,
    unit_number_bits,
    walk_layout,
)


def quotient(number: Value, divisor: int) -> Value:
    """Divides a number of so many bits by a constant, by a product with its inverse."""
    shift = len(number) + (divisor - 1).bit_length()
    inverse = -(-(1 << shift) // divisor)
    return (number * Const(inverse))[shift:]


class Places(wiring.Component):
    """Computes the place of a vector in the output. It is the unit of a vector of a slice; for a
    slice of one value the unit and the place in it; where sums are in memory, the slot and, beside
    it, the unit's number.

    Latency one cycle, one a cycle.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    job: see ``job_layout``; constant
    units: units of a slice; constant
    drain: see ``drain_layout``
    slot: of the vector, if the job adds in memory
    value: the first value of column 0
    o: see :func:`addend_layout`
    number: of the unit in its output
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "units": In(range(config.olen + 1)),
                "drain": In(drain_layout(config)),
                "slot": In(range(config.memory_slots)),
                "value": In(config.sum_format.bits),
                "o": Out(addend_layout(config)),
                "number": Out(unit_number_bits(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        # In the buffer there are no more.
        number = self.drain.slice[: (config.out_units * config.unit_values - 1).bit_length()]
        unit = Signal(len(number))
        single = Signal()
        m.d.comb += [
            single.eq(self.job.kernel == KERNELS.index("mv")),
            unit.eq(quotient(number, config.unit_values)),
        ]
        place = Signal(range(max(2, config.unit_values)))
        m.d.comb += place.eq(number - unit * config.unit_values)
        unit_number = self.drain.slice * self.units + self.drain.vector
        address = Mux(self.job.direct, self.slot, unit_number)
        m.d.sync += [
            self.number.eq(unit_number),
            self.o.valid.eq(self.drain.valid),
            self.o.single.eq(single),
            self.o.address.eq(Mux(single, unit, address)),
            self.o.place.eq(place),
            self.o.value.eq(self.value),
        ]
        return m


class MatrixStore(wiring.Component):
    """Adds the vectors of the rows to the output buffer, and writes complete outputs to memory.

    ``output[s] = output[s] (+) sum of slice s``, one vector a cycle, never waiting; column c works
    c cycles behind column 0. In kernel mv the slices are values, one in each lane. Tiles are taken
    one at a time: a further one is opened when all rows have given all that they have of the one
    before, so that additions are in the order of tiles. Behind a tile with ``last`` the sides of
    the buffer change places: its slices are written, and all that was added to is set to the
    identity, while the next tiles are added up in the other side.

    A job that is ``direct`` adds to memory instead, see :class:`MemorySums`: ``hold`` says when
    rows must wait. Behind its last tile all sums are waited for.

    After reset, after ``stop`` and after such a job both sides are set to the identity first;
    ``ready`` says that they are.

    Source: Tensaurus, the matrix store unit.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    job: see ``job_layout``; constant while it runs
    start: pulse: a job begins
    tiles: see ``tile_layout``
    open: pulse: rows may give vectors of one further tile
    leaves, hold: in, out; a vector leaves a row, two cycles before ``drain``; none must
    drain, drain_data: see ``drain_layout``; of each column its vector, that of column c c cycles
        later
    drained: of each row, a pulse: it has given all of the oldest tile that is open
    ready: the buffer is empty, and a job may begin
    finished: the job's last output is in memory
    sent: bytes of the result that are sent in this cycle
    aw, w, b, ar, r: of each channel (arrays)
    stop, idle, error, error_address: see :class:`Supervision`; of writes
    read_error, read_error_address: the same of reads
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        geometry, channels = config.geometry, config.channels
        vector_bits = config.vlen * config.sum_format.bits
        super().__init__(
            {
                "job": In(job_layout(config)),
                "start": In(1),
                "tiles": In(stream.Signature(tile_layout(config))),
                "open": Out(1),
                "leaves": In(1),
                "hold": Out(1),
                "drain": In(drain_layout(config)),
                "drain_data": In(data.ArrayLayout(vector_bits, config.cols)),
                "drained": In(config.rows),
                "ready": Out(1),
                "finished": Out(1),
                "sent": Out(range(config.line_bytes + 1)),
                "aw": Out(stream.Signature(address_layout(geometry.addr_bits))).array(channels),
                "w": Out(stream.Signature(write_layout(geometry.data_bits))).array(channels),
                "b": In(stream.Signature(response_layout())).array(channels),
                "read_error": Out(1),
                "read_error_address": Out(geometry.addr_bits),
                **reader_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.places = places = Places(config)
        m.submodules.output_walk = walk = OutputWalk(config)
        m.submodules.memory_sums = direct = MemorySums(config)
        writer = self._writer(m, walk, direct)
        units = self._units(m)
        m.d.comb += [
            places.job.eq(self.job),
            places.units.eq(units),
            places.drain.eq(self.drain),
            places.slot.eq(direct.slot),
            places.value.eq(self.drain_data[0][: config.sum_format.bits]),
            walk.clear.eq(self.stop),
        ]
        side = Signal()
        fill = Signal(walk_layout(config))
        control = Signal(walk_layout(config), name="walk")
        m.d.comb += control.eq(Mux(fill.both, fill, walk.walk))
        with m.If(self.job.direct):
            m.d.comb += [
                control.read.eq(direct.sum_read.valid),
                control.read_address.eq(direct.sum_read.slot),
            ]
        found = self._columns(m, side, places.o, control, direct)
        m.d.comb += [walk.unit.eq(found), direct.sum.eq(found)]
        extent = self._extent(m, units)
        m.d.comb += walk.extent.eq(extent)
        self._direct(m, direct, places, extent.address)
        free = self._tiles(m, side, walk, places.o, fill, direct)
        m.d.comb += self.idle.eq(free & ~walk.busy & writer.idle & direct.idle)
        return m

    def _writer(self, m: Module, walk: OutputWalk, direct: MemorySums) -> StripedWriter:
        """Lines of whole outputs, or of units."""
        config, chosen = self._config, self.job.direct
        m.submodules.writer = writer = StripedWriter(
            config.geometry,
            line_blocks=config.line_blocks,
            bytes_bits=config.out_bytes.bit_length(),
            outstanding=config.outstanding,
            blocks=2,
        )
        for name, i in (("request", writer.request), ("lines", writer.i)):
            outputs, units = getattr(walk, name), getattr(direct, name)
            m.d.comb += [
                i.valid.eq(Mux(chosen, units.valid, outputs.valid)),
                Value.cast(i.payload).eq(
                    Mux(chosen, Value.cast(units.payload), Value.cast(outputs.payload))
                ),
                units.ready.eq(i.ready & chosen),
                outputs.ready.eq(i.ready & ~chosen),
            ]
        for name in ("aw", "w", "b"):
            for number in range(config.channels):
                port = getattr(self, name)[number]
                wiring.connect(m, getattr(writer, name)[number], wiring.flipped(port))
        m.d.comb += [
            writer.stop.eq(self.stop),
            self.error.eq(writer.error),
            self.error_address.eq(writer.error_address),
            self.sent.eq(Mux(chosen, direct.sent, walk.sent)),
            direct.wrote.eq(writer.wrote),
        ]
        return writer

    def _direct(self, m: Module, direct: MemorySums, places: Places, base: Value) -> None:
        """Sums in memory."""
        m.d.comb += [
            direct.active.eq(self.job.direct),
            direct.start.eq(self.start),
            direct.leaves.eq(self.leaves),
            self.hold.eq(direct.hold),
            direct.base.eq(base),
            direct.drained.eq(self.drain.valid),
            direct.number.eq(places.number),
            direct.stop.eq(self.stop),
            self.read_error.eq(direct.error),
            self.read_error_address.eq(direct.error_address),
        ]
        for number in range(self._config.channels):
            b = self.b[number]
            m.d.comb += direct.answered[number].eq(b.valid & b.ready)
            wiring.connect(m, direct.ar[number], wiring.flipped(self.ar[number]))
            wiring.connect(m, wiring.flipped(self.r[number]), direct.r[number])

    def _units(self, m: Module) -> Value:
        """Units of a slice: the scalars and the vectors of a row, multiplied."""
        config, job = self._config, self.job
        scalars = Signal(range(config.olen + 1))
        units = Signal(range(config.olen + 1))
        m.d.sync += [
            scalars.eq(job.scalars_1 * job.scalars_2),
            units.eq(scalars * job.vectors),
        ]
        return units

    def _columns(
        self, m: Module, side: Value, first: Value, walk: Value, direct: MemorySums
    ) -> Value:
        """Connects the columns, which pass the addend on; returns the unit that was read."""
        config, given = self._config, first
        bits = config.vlen * config.sum_format.bits
        columns = []
        for number in range(config.cols):
            column = StoreColumn(config)
            m.submodules[f"column_{number}"] = column
            m.d.comb += [
                column.side.eq(side),
                column.i.eq(given),
                column.vector.eq(self.drain_data[number]),
                column.walk.eq(walk),
                column.direct.eq(self.job.direct),
                column.read.eq(direct.read),
                column.given.eq(direct.unit[number * bits : (number + 1) * bits]),
            ]
            given = column.onward
            columns.append(column.o)
        return Cat(columns)

    def _tiles(
        self,
        m: Module,
        side: Signal,
        walk: OutputWalk,
        added: Value,
        fill: Value,
        direct: MemorySums,
    ) -> Value:
        """Processes the tiles one after the other; returns whether none is in progress."""
        config = self._config
        last = Signal()
        final = Signal()
        seen = Signal(config.rows)
        wait = Signal(range(settling_cycles(config) + 1))
        touched = Signal(range(config.out_units + 1))
        at = Signal(range(config.out_units))
        ended = Signal()
        free = Signal()
        tile = self.tiles.payload
        m.d.comb += [
            walk.units.eq(touched),
            self.finished.eq(ended & self.idle),
        ]
        with m.If(added.valid & ~self.job.direct & (added.address >= touched)):
            m.d.sync += touched.eq(added.address + 1)
        with m.If(self.start):
            m.d.sync += ended.eq(0)
        with m.FSM(name="tile"):
            with m.State("fill"):
                m.d.comb += [
                    free.eq(1),
                    fill.both.eq(1),
                    fill.clear.eq(1),
                    fill.clear_address.eq(at),
                ]
                m.d.sync += at.eq(at + 1)
                with m.If(at == config.out_units - 1):
                    m.next = "take"
                self._stop(m, wait)
            with m.State("take"):
                m.d.comb += [
                    free.eq(1),
                    self.ready.eq(1),
                    self.tiles.ready.eq(~self.stop),
                    self.open.eq(self.tiles.valid & ~self.stop),
                ]
                with m.If(self.open):
                    m.d.sync += [last.eq(tile.last), final.eq(tile.final), seen.eq(0)]
                    m.next = "drain"
                self._stop(m, wait)
            with m.State("drain"):
                m.d.sync += [seen.eq(seen | self.drained), wait.eq(settling_cycles(config))]
                with m.If(seen.all()):
                    m.next = "settle"
                    with m.If(self.job.direct):
                        m.next = "take"
                        with m.If(final):
                            m.next = "empty"
                self._stop(m, wait)
            with m.State("settle"):
                m.d.sync += wait.eq(wait - 1)
                with m.If(wait == 0):
                    m.next = "take"
                    with m.If(last):
                        m.next = "turn"
                self._stop(m, wait)
            with m.State("turn"):
                with m.If(~walk.busy & ~self.stop):
                    m.d.comb += walk.start.eq(1)
                    m.d.sync += [side.eq(~side), touched.eq(0), ended.eq(final)]
                    m.next = "take"
                self._stop(m, wait)
            with m.State("empty"):
                m.d.sync += at.eq(0)
                with m.If(direct.empty):
                    m.d.sync += ended.eq(1)
                    m.next = "fill"
                self._stop(m, wait)
            with m.State("stopped"):
                # The operations in flight in the columns complete.
                m.d.comb += free.eq(1)
                m.d.sync += [wait.eq(wait - 1), at.eq(0), touched.eq(0), ended.eq(0)]
                with m.If(wait == 0):
                    m.next = "fill"
                self._stop(m, wait)
        return free

    def _stop(self, m: Module, wait: Signal) -> None:
        """Stops in any state on ``stop``, and waits until the array has settled."""
        with m.If(self.stop):
            m.d.sync += wait.eq(settling_cycles(self._config))
            m.next = "stopped"

    def _extent(self, m: Module, units: Value) -> Any:
        """Computes the memory that the side's result occupies after the current tile, well before
        it is needed."""
        config, tile = self._config, self.tiles.payload
        slices = Signal(range(config.out_units * config.unit_values + 1))
        parts = Signal.like(slices)
        extent = Signal(output_extent(config))
        single = self.job.kernel == KERNELS.index("mv")
        with m.If(self.tiles.valid & self.tiles.ready):
            m.d.sync += [slices.eq(tile.slices), extent.address.eq(tile.output)]
        value_bytes = config.sum_format.bits // 8
        m.d.sync += [
            parts.eq(Mux(single, slices, slices * units)),
            extent.bytes.eq(parts * Mux(single, value_bytes, config.result_unit_bytes)),
        ]
        return extent
