"""Loads a tensor from memory into the slots of each row."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import supervise
from ...channels.striped_reader import StripedReader
from ...spec.tensaurus import TensaurusConfig
from ...stream.fork_join import Fork
from ...stream.gearbox import Gearbox
from ...stream.queue import DeepQueue
from ...stream.stream_registers import SkidBuffer
from ..layouts import SlotKind, job_layout, slot_layout, tile_layout
from .entry_slots import EntrySlots, entry_sizes
from .lines import connect_bus, line_reader, reader_members


class DenseRow(wiring.Component):
    """Converts every ``rows``-th slice, from slice ``row`` on, to a CISS row: a header for each
    slice, all values with their indices, zeros included, and an end after the last slice.

    A slot a cycle while there are lines, over slices and tiles too.

    Parameters
    ----------
    config: see ``TensaurusConfig``

    Members
    -------
    row: in; which one; constant
    job: in; constant
    tiles: each is accepted with its last slot
    lines: the row's, in order; two wait here
    o: see ``slot_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "row": In(range(max(2, config.rows))),
                "job": In(job_layout(config)),
                "tiles": In(stream.Signature(tile_layout(config))),
                "lines": In(stream.Signature(8 * config.line_bytes)),
                "o": Out(stream.Signature(slot_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, tile, slot = self._config, self.tiles.payload, self.o.payload
        m.submodules.line = line = SkidBuffer(8 * config.line_bytes, clearable=True)
        wiring.connect(m, wiring.flipped(self.lines), line.i)
        bits = config.format.bits
        values = 8 * config.line_bytes // bits
        first = Signal(33)
        number = Signal(33)
        heads = Signal(init=1)
        over = Signal()
        place = Signal(range(values))
        moves = Signal()
        takes = Signal()
        m.d.comb += [
            number.eq(first + self.row),
            over.eq(heads & (number >= tile.slices)),
            moves.eq(self.o.valid & self.o.ready),
            takes.eq(moves & ~heads),
            self.o.valid.eq(self.tiles.valid & (heads | line.o.valid)),
            self.tiles.ready.eq(moves & over),
            slot.kind.eq(Mux(over, SlotKind.END, Mux(heads, SlotKind.HEADER, SlotKind.VALUE))),
            slot.value.eq(line.o.payload.word_select(place, bits)),
        ]
        index, ends = self._indices(m, takes)
        m.d.comb += [
            *(slot.index[n].eq(index[n]) for n in range(config.order - 1)),
            line.o.ready.eq(takes & (ends | (place == values - 1))),
            line.clear.eq(self.clear),
        ]
        with m.If(heads):
            m.d.comb += slot.index[0].eq(number)
        with m.If(moves & heads & ~over):
            m.d.sync += heads.eq(0)
        with m.If(takes):
            m.d.sync += place.eq(place + 1)
            with m.If(line.o.ready):
                m.d.sync += place.eq(0)
            with m.If(ends):
                m.d.sync += [heads.eq(1), first.eq(first + config.rows)]
        with m.If(self.clear | self.tiles.ready):
            m.d.sync += [first.eq(0), heads.eq(1), place.eq(0)]
        return m

    def _indices(self, m: Module, takes: Value) -> tuple[list[Signal], Value]:
        """Indices of the value, and whether it is the slice's last."""
        config, tile = self._config, self.tiles.payload
        modes = range(1, config.order)
        index = [Signal(config.index_bits, name=f"index_{mode}") for mode in modes]
        carries: Value = takes
        all_end = Signal(len(modes))
        for mode in reversed(modes):
            counter = index[mode - 1]
            at_end = Signal(name=f"at_end_{mode}")
            # A mode that the tensor does not have has the index 0 only.
            m.d.comb += [
                at_end.eq((self.job.order <= mode) | (counter + 1 == tile[f"size_{mode}"])),
                all_end[mode - 1].eq(at_end),
            ]
            with m.If(carries):
                m.d.sync += counter.eq(Mux(at_end, 0, counter + 1))
            carries = carries & at_end
            with m.If(self.clear):
                m.d.sync += counter.eq(0)
        return index, all_end.all()


def line_layout(config: TensaurusConfig) -> data.StructLayout:
    """A line of a slice: its ``address``, the ``bytes`` that the slice has of it, and the ``row``
    that it is for."""
    return data.StructLayout(
        {
            "address": config.addr_bits,
            "bytes": config.line_bytes.bit_length(),
            "row": range(max(2, config.rows)),
        }
    )


class DenseWalk(wiring.Component):
    """Walks the lines of a tile: one line of each of the next ``rows`` slices, round robin until
    they end, then the following slices. One line per cycle; two cycles more for a tile.

    Members
    -------
    i: tiles
    o: see :func:`line_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(tile_layout(config))),
                "o": Out(stream.Signature(line_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, tile = self._config, self.i.payload
        value_bytes = config.format.bits // 8
        values = config.line_bytes // value_bytes
        active = Signal()
        # Slices from the first of these on; elements of each of them from this line on.
        slices = Signal(32, reset_less=True)
        elements = Signal(len(tile.elements), reset_less=True)
        # The first of these slices; this line of it; this line of the row's.
        group = Signal(config.addr_bits, reset_less=True)
        line = Signal(config.addr_bits, reset_less=True)
        address = Signal(config.addr_bits, reset_less=True)
        row = Signal(range(max(2, config.rows)))
        step = Signal(config.addr_bits, reset_less=True)
        last_row = Signal()
        last_line = Signal()
        last_group = Signal()
        next_line = Signal(config.addr_bits)
        m.d.comb += [
            last_row.eq((row == config.rows - 1) | (row + 1 == slices)),
            last_line.eq(elements <= values),
            last_group.eq(slices <= config.rows),
            next_line.eq(Mux(last_line, group + step, line + config.line_bytes)),
            self.o.valid.eq(active),
            self.o.payload.address.eq(address),
            self.o.payload.bytes.eq(Mux(last_line, elements * value_bytes, config.line_bytes)),
            self.o.payload.row.eq(row),
            self.i.ready.eq(self.o.valid & self.o.ready & last_row & last_line & last_group),
        ]
        with m.If(~active):
            m.d.sync += [
                active.eq(self.i.valid),
                slices.eq(tile.slices),
                elements.eq(tile.elements),
                group.eq(tile.tensor),
                line.eq(tile.tensor),
                address.eq(tile.tensor),
                row.eq(0),
                step.eq(tile.pitch * config.rows),
            ]
        with m.Elif(self.o.ready):
            m.d.sync += [row.eq(row + 1), address.eq(address + tile.pitch)]
            with m.If(last_row):
                m.d.sync += [row.eq(0), line.eq(next_line), address.eq(next_line)]
                m.d.sync += elements.eq(Mux(last_line, tile.elements, elements - values))
                with m.If(last_line):
                    m.d.sync += [group.eq(next_line), slices.eq(slices - config.rows)]
                    m.d.sync += active.eq(~last_group)
        with m.If(self.clear):
            m.d.sync += active.eq(0)
        return m


_TILES = 63
"""Tiles that may be in flight."""


class TensorLoader(wiring.Component):
    """Reads each tile's tensor, a stream of entries or a dense one, into a queue for each row.

    A stream gives an entry a cycle, if the channels deliver it; a row that takes nothing stops the
    others when its queue is full. Entries are checked (:class:`EntrySlots`). A dense tensor gives
    each row a value a cycle (:class:`DenseRow`), if the channels deliver them. The next tile is
    read while one is worked on.

    Source: Tensaurus, section on its architecture (TLU).

    Members
    -------
    job: in; constant while tiles come
    tiles: see ``tile_layout``
    slots: array of streams, by row, see ``slot_layout``
    stream_error, slice_error, index_error, error_entry, error_tile: see ``EntrySlots``; until
        ``stop``
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle``: every row has its end of every
        tile
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "tiles": In(stream.Signature(tile_layout(config))),
                "slots": Out(stream.Signature(slot_layout(config))).array(config.rows),
                "stream_error": Out(1),
                "slice_error": Out(1),
                "index_error": Out(1),
                "error_entry": Out(32),
                "error_tile": Out(32),
                **reader_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.reader = reader = line_reader(config)
        m.submodules.ahead = ahead = Fork(tile_layout(config), 3, eager=True)
        m.submodules.tile = tile = SkidBuffer(tile_layout(config), clearable=True)
        m.submodules.users = users = Fork(tile_layout(config), 3 + config.rows, eager=True)
        m.submodules.entries = entries = Gearbox(config.line_bytes, entry_sizes(config), 32)
        m.submodules.context = context = SkidBuffer(tile_layout(config), clearable=True)
        m.submodules.entry_slots = entry_slots = EntrySlots(config)
        m.submodules.requests = requests = DenseWalk(config)
        m.submodules.places = places = DenseWalk(config)
        rows = [DenseRow(config) for _ in range(config.rows)]
        for number, row in enumerate(rows):
            m.submodules[f"dense_row_{number}"] = row
            m.d.comb += row.row.eq(number)
        wiring.connect(m, ahead.o[1], requests.i)
        wiring.connect(m, ahead.o[2], tile.i)
        wiring.connect(m, tile.o, users.i)
        wiring.connect(m, users.o[1], context.i)
        wiring.connect(m, context.o, entry_slots.tiles)
        wiring.connect(m, users.o[2], places.i)
        for number, row in enumerate(rows):
            wiring.connect(m, users.o[3 + number], row.tiles)
        wiring.connect(m, entries.o, entry_slots.entries)
        dense = self.job.dense
        cut = users.o[0]
        m.d.comb += [
            ahead.to.eq(Mux(dense, 0b110, 0b101)),
            users.to.eq(Mux(dense, (1 << 3 + config.rows) - 4, 0b011)),
            entry_slots.job.eq(self.job),
            entries.request.valid.eq(cut.valid),
            cut.ready.eq(entries.request.ready),
            entries.request.payload.count.eq(cut.payload.entries),
        ]
        if config.order > 2:
            m.d.comb += entries.request.payload.size.eq(self.job.order - 2)
        parts: list[Any] = [ahead, tile, users, entries, context, entry_slots, requests, places]
        for part in (*parts, *rows):
            m.d.comb += part.clear.eq(self.stop)
        self._request(m, reader, ahead.o[0], requests)
        self._deal(m, reader, entries, places, rows)
        self._queue(m, entry_slots, rows)
        supervise(m, self, [reader], busy=self._admit(m, ahead.i))
        connect_bus(m, self, reader)
        for name in ("stream_error", "slice_error", "index_error", "error_entry", "error_tile"):
            m.d.comb += getattr(self, name).eq(getattr(entry_slots, name))
        return m

    def _admit(self, m: Module, tiles: Any) -> Value:
        """Accepts tiles, and counts them until each row's end of them has left. Returns whether
        there are any.

        A tile counts from its first cycle on: a row without a slice may be at its end long before
        the last line of a dense tensor is requested.
        """
        full = Signal(self._config.rows)
        some = Signal(self._config.rows)
        begun = Signal(name="tile_begun")
        came = Signal()
        m.d.comb += [
            tiles.valid.eq(self.tiles.valid & (begun | ~full.any())),
            self.tiles.ready.eq(tiles.valid & tiles.ready),
            tiles.payload.eq(self.tiles.payload),
            came.eq(tiles.valid & ~begun),
        ]
        m.d.sync += begun.eq(tiles.valid & ~tiles.ready & ~self.stop)
        for row, slots in enumerate(self.slots):
            inside = Signal(range(_TILES + 1), name=f"tiles_{row}")
            went = slots.valid & slots.ready & (slots.payload.kind == SlotKind.END)
            m.d.comb += [full[row].eq(inside == _TILES), some[row].eq(inside != 0)]
            with m.If(self.stop):
                m.d.sync += inside.eq(0)
            with m.Else():
                m.d.sync += inside.eq(inside + came - went)
        return some.any()

    def _request(self, m: Module, reader: StripedReader, sparse: Any, dense: DenseWalk) -> None:
        """A stream at once, a dense tensor line by line."""
        config = self._config
        asked, tile, line = reader.request.payload, sparse.payload, dense.o.payload
        sizes = entry_sizes(config)
        size = Array(sizes)[self.job.order - 2] if len(sizes) > 1 else sizes[0]
        m.d.comb += [
            reader.request.valid.eq(Mux(self.job.dense, dense.o.valid, sparse.valid)),
            dense.o.ready.eq(reader.request.ready & self.job.dense),
            sparse.ready.eq(reader.request.ready & ~self.job.dense),
            asked.address.eq(Mux(self.job.dense, line.address, tile.tensor)),
            asked.bytes.eq(Mux(self.job.dense, line.bytes, tile.entries * size)),
        ]

    def _deal(
        self,
        m: Module,
        reader: StripedReader,
        entries: Gearbox,
        places: DenseWalk,
        rows: list[DenseRow],
    ) -> None:
        """Lines to the gearbox, or each to its row."""
        dense, place = self.job.dense, places.o
        # Whether a line goes is known late: the reader hears of it a cycle later.
        m.submodules.lines = lines = SkidBuffer(
            reader.o.payload.shape(), output_register=False, clearable=True
        )
        wiring.connect(m, reader.o, lines.i)
        m.d.comb += lines.clear.eq(self.stop)
        line = lines.o
        chosen = Signal(len(rows))
        ready = Signal()
        m.d.comb += [
            entries.lines.valid.eq(line.valid & ~dense),
            entries.lines.payload.eq(line.payload.data),
            chosen.eq(Mux(place.valid & dense, 1 << place.payload.row, 0)),
            ready.eq((chosen & Cat(row.lines.ready for row in rows)).any()),
            place.ready.eq(line.valid & ready),
            line.ready.eq(Mux(dense, ready, entries.lines.ready)),
        ]
        for number, row in enumerate(rows):
            m.d.comb += [
                row.job.eq(self.job),
                row.lines.valid.eq(line.valid & chosen[number]),
                row.lines.payload.eq(line.payload.data),
            ]

    def _queue(self, m: Module, entry_slots: EntrySlots, rows: list[DenseRow]) -> None:
        """Slots to the rows' queues; those of an entry all at once."""
        config, dense = self._config, self.job.dense
        source = entry_slots.o
        present = source.payload.present
        free = Signal(config.rows)
        goes = Signal()
        m.d.comb += [
            source.ready.eq((free | ~present).all()),
            goes.eq(source.valid & source.ready),
        ]
        for number, row in enumerate(rows):
            queue = DeepQueue(slot_layout(config), config.row_queue)
            m.submodules[f"queue_{number}"] = queue
            wiring.connect(m, queue.o, wiring.flipped(self.slots[number]))
            slot: Any = source.payload.slots[number]
            m.d.comb += [
                queue.clear.eq(self.stop),
                free[number].eq(queue.i.ready),
                queue.i.valid.eq(Mux(dense, row.o.valid, goes & present[number])),
                queue.i.payload.eq(Mux(dense, row.o.payload.as_value(), slot.as_value())),
                row.o.ready.eq(queue.i.ready & dense),
            ]
