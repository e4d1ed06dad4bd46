"""Loads the dense operands from memory into the scratchpads."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import supervise
from ...channels.channel_of_row import ChannelOfRow
from ...spec.jobs.tensaurus_operations import OPERANDS
from ...spec.tensaurus import TensaurusConfig
from ...stream.fork_join import Fork
from ...stream.gearbox import Gearbox
from ...stream.stream_registers import OutputRegister, SkidBuffer
from ..layouts import (
    job_layout,
    scalar_write_layout,
    tile_layout,
    tile_token_layout,
    unit_write_layout,
)
from .lines import connect_bus, is_scalar, line_reader, reader_members, row_parts


def load_layout(config: TensaurusConfig) -> data.StructLayout:
    """The operand of a mode, counted from 0 (``operand``): whether the tile loads it (``load``),
    whether it is one of ``scalar`` values; the ``address`` in memory; its ``count`` of units or of
    vectors of scalars, and the ``first`` of these in the scratchpad; ``last`` of the tile."""
    fields: dict[str, ShapeLike] = {
        "operand": range(max(2, config.order - 1)),
        "load": 1,
        "scalar": 1,
        "address": config.addr_bits,
        "count": config.spm_units.bit_length(),
        "first": range(config.spm_units),
        "last": 1,
    }
    return data.StructLayout(fields)


class OperandLoads(wiring.Component):
    """Computes the load of each operand of a tile, mode after mode, even if it is empty. One per
    cycle; latency three cycles, six if ``vlen`` is no power of two.

    Members
    -------
    job: in; constant from some cycles before the first tile on
    i: tiles
    o: see :func:`load_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(stream.Signature(tile_layout(config))),
                "o": Out(stream.Signature(load_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        load = load_layout(config)
        bits = config.spm_scalars.bit_length()
        chosen_fields: dict[str, ShapeLike] = {"load": load, "size": bits}
        chosen_fields |= {"parts": self.job.vectors.shape()}
        counted_layout = data.StructLayout({"load": load, "product": bits})
        m.submodules.chosen = chosen = OutputRegister(
            data.StructLayout(chosen_fields), clearable=True
        )
        m.submodules.counted = counted = OutputRegister(counted_layout, clearable=True)
        m.submodules.vectors = vectors = ChannelOfRow(bits + 1, config.vlen, counted_layout)
        m.submodules.sent = sent = OutputRegister(load, clearable=True)
        parts: list[Any] = [chosen, counted, vectors, sent]
        for part in parts:
            m.d.comb += part.clear.eq(self.clear)
        for before, behind in pairwise(parts):
            m.d.comb += [behind.i.valid.eq(before.o.valid), before.o.ready.eq(behind.i.ready)]
        self._choose(m, chosen)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        source, product = chosen.o.payload, counted.o.payload.product
        found = vectors.o.payload.carried
        m.d.comb += [
            counted.i.payload.load.eq(source.load),
            counted.i.payload.product.eq(source.size * source.parts),
            vectors.i.payload.row.eq(product + config.vlen - 1),
            vectors.i.payload.carried.eq(counted.o.payload),
            sent.i.payload.eq(found.load),
            sent.i.payload.count.eq(Mux(found.load.scalar, vectors.o.payload.index, found.product)),
        ]
        return m

    def _choose(self, m: Module, chosen: OutputRegister) -> None:
        """Mode after mode of the tile."""
        config, job, tile = self._config, self.job, self.i.payload
        modes = range(1, config.order)
        operand = Signal(range(max(2, len(modes))))
        last = Signal()
        load = chosen.i.payload.load

        def of_mode(by_mode: list[Value]) -> Value:
            return by_mode[0] if len(by_mode) == 1 else Array(by_mode)[operand]

        m.d.comb += [
            last.eq(operand + 2 == job.order),
            chosen.i.valid.eq(self.i.valid),
            self.i.ready.eq(chosen.i.ready & last),
            load.operand.eq(operand),
            load.load.eq(of_mode([tile.load[mode - 1] for mode in modes])),
            load.scalar.eq(of_mode([is_scalar(job, mode) for mode in modes])),
            load.address.eq(of_mode([tile[f"operand_{mode}"] for mode in modes])),
            load.first.eq(of_mode([self._first(m, mode) for mode in modes])),
            load.last.eq(last),
            chosen.i.payload.size.eq(of_mode([tile[f"size_{mode}"] for mode in modes])),
            chosen.i.payload.parts.eq(of_mode([row_parts(job, mode) for mode in modes])),
        ]
        with m.If(chosen.i.valid & chosen.i.ready):
            m.d.sync += operand.eq(Mux(last, 0, operand + 1))
        with m.If(self.clear):
            m.d.sync += operand.eq(0)

    def _first(self, m: Module, mode: int) -> Value:
        """Computes the place at which the operand of a mode begins: a unit, or a vector of
        scalars."""
        config, job = self._config, self.job
        region = getattr(job, f"region_{mode}")
        m.submodules[f"first_{mode}"] = first = ChannelOfRow(
            config.spm_scalars.bit_length(), config.vlen, 1
        )
        m.d.comb += [
            first.i.valid.eq(1),
            first.i.payload.row.eq(region),
            first.o.ready.eq(1),
            first.clear.eq(0),
        ]
        return Mux(is_scalar(job, mode), first.o.payload.index, region)


MOST_TILES = 7
"""Tiles that a row may have been told of and still work on."""


class OperandSides(wiring.Component):
    """Assigns a side to each operand, and counts the tiles that rows still process.

    The tiles that used the other side of an operand were told before the tile for which it was
    loaded last. So the other side is free if no row works on more tiles than were told since.

    Members
    -------
    loaded: in; a bit for each operand, a pulse: it is in its other side now
    told: in, a pulse: the rows may work on a further tile; only with ``room``
    row_done: in; a bit for each row, a pulse: it has read all that it needs of its tile; means
        nothing from a row without a tile
    sides: out; a bit for each operand
    free: out; a bit for each operand: no row reads its other side
    room: out; rows may be told of a further tile
    clear: in; as after reset
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._rows = config.rows
        super().__init__(
            {
                "loaded": In(OPERANDS),
                "told": In(1),
                "row_done": In(config.rows),
                "sides": Out(OPERANDS),
                "free": Out(OPERANDS),
                "room": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tiles = [Signal(range(MOST_TILES + 1), name=f"tiles_{row}") for row in range(self._rows)]
        m.d.comb += self.room.eq(Cat(count != MOST_TILES for count in tiles).all())
        for row, count in enumerate(tiles):
            m.d.sync += count.eq(count + self.told - (self.row_done[row] & (count != 0)))
        for operand in range(OPERANDS):
            # Since it was loaded; more than a row can have of them is as good as that many.
            since = Signal(range(MOST_TILES + 1), name=f"since_{operand}")
            m.d.comb += self.free[operand].eq(Cat(count <= since for count in tiles).all())
            with m.If(self.loaded[operand]):
                m.d.sync += since.eq(0)
            with m.Elif(self.told):
                m.d.sync += since.eq(Mux(since == MOST_TILES, since, since + 1))
            with m.If(self.clear):
                m.d.sync += since.eq(0)
        m.d.sync += self.sides.eq(self.sides ^ self.loaded)
        with m.If(self.clear):
            m.d.sync += [self.sides.eq(0), *(count.eq(0) for count in tiles)]
        return m


_TILES = 31
"""More than there is room for inside."""


class MatrixLoader(wiring.Component):
    """Loads each tile's operands into the other side of their regions, then notifies the rows.

    An operand that is loaded goes to the side that its mode does not use; it is written there as
    soon as no row works any more on a tile that used it, and read ahead of that. A unit, or a
    vector of scalars, a cycle, if the channels deliver it. A token follows the last write of its
    tile by a cycle at least, so that what is read after it is the tile's.

    Source: Tensaurus, section on its architecture (MLU).

    Members
    -------
    job: in; constant from some cycles before the first tile on
    tiles: see ``tile_layout``
    unit_write, scalar_write: out; to the scratchpads, see their layouts
    token: a transfer for each tile whose operands are there, see ``tile_token_layout``
    row_done: in; a bit for each row, a pulse: it has read all that it needs of its tile
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle``: all tokens were taken. All
        sides are 0 after ``stop``
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "tiles": In(stream.Signature(tile_layout(config))),
                "unit_write": Out(unit_write_layout(config)),
                "scalar_write": Out(scalar_write_layout(config)),
                "token": Out(stream.Signature(tile_token_layout(config))),
                "row_done": In(config.rows),
                **reader_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.reader = reader = line_reader(config)
        m.submodules.loads = loads = OperandLoads(config)
        m.submodules.fork = fork = Fork(load_layout(config), 3, eager=True)
        m.submodules.cuts = cuts = SkidBuffer(load_layout(config), clearable=True)
        m.submodules.writes = writes = SkidBuffer(load_layout(config), clearable=True)
        m.submodules.parts = parts = Gearbox(
            config.line_bytes, (config.unit_bytes, config.vector_bytes), len(cuts.o.payload.count)
        )
        for part in (loads, fork, cuts, writes, parts):
            m.d.comb += part.clear.eq(self.stop)
        wiring.connect(m, wiring.flipped(self.tiles), loads.i)
        wiring.connect(m, loads.o, fork.i)
        wiring.connect(m, fork.o[1], cuts.i)
        wiring.connect(m, fork.o[2], writes.i)
        asked = fork.o[0]
        size = Mux(asked.payload.scalar, config.vector_bytes, config.unit_bytes)
        m.d.comb += [
            loads.job.eq(self.job),
            fork.to.eq(Mux(fork.i.payload.load, 0b111, 0b100)),
            reader.request.valid.eq(asked.valid),
            asked.ready.eq(reader.request.ready),
            reader.request.payload.address.eq(asked.payload.address),
            reader.request.payload.bytes.eq(asked.payload.count * size),
            parts.request.valid.eq(cuts.o.valid),
            cuts.o.ready.eq(parts.request.ready),
            parts.request.payload.size.eq(cuts.o.payload.scalar),
            parts.request.payload.count.eq(cuts.o.payload.count),
            parts.lines.valid.eq(reader.o.valid),
            reader.o.ready.eq(parts.lines.ready),
            parts.lines.payload.eq(reader.o.payload.data),
        ]
        supervise(m, self, [reader], busy=self._write(m, writes, parts))
        connect_bus(m, self, reader)
        return m

    def _write(self, m: Module, writes: SkidBuffer, parts: Gearbox) -> Value:
        """Writes the data that is read to the scratchpads, operand after operand, and sends a token
        after the last operand of a tile. Returns whether tiles are inside."""
        load: Any = writes.o.payload
        m.submodules.sides = sides = OperandSides(self._config)
        m.submodules.told = told = OutputRegister(tile_token_layout(self._config), clearable=True)
        wiring.connect(m, told.o, wiring.flipped(self.token))
        # All operands of a tile are loaded, and its token is not sent.
        due = Signal()
        takes = Signal()
        done = Signal()
        # One for each value of an operand's number.
        modes = 1 << len(load.operand)
        free = sides.free[:modes]
        m.d.comb += [
            parts.o.ready.eq(writes.o.valid & load.load & (free >> load.operand)[0] & ~due),
            takes.eq(parts.o.valid & parts.o.ready),
            done.eq(Mux(load.load, takes & parts.o.payload.last, writes.o.valid & ~due)),
            writes.o.ready.eq(done),
            told.clear.eq(self.stop),
            told.i.valid.eq(due & sides.room),
            told.i.payload.sides.eq(sides.sides),
            sides.clear.eq(self.stop),
            sides.loaded.eq(Mux(done & load.load, 1 << load.operand, 0)),
            sides.told.eq(told.i.valid & told.i.ready),
            sides.row_done.eq(self.row_done),
        ]
        with m.If(done):
            m.d.sync += due.eq(load.last)
        with m.Elif(sides.told):
            m.d.sync += due.eq(0)
        with m.If(self.stop):
            m.d.sync += due.eq(0)
        side = ~(sides.sides[:modes] >> load.operand)[0]
        self._store(m, load, takes, side, parts)
        return self._count(m)

    def _store(self, m: Module, load: Any, takes: Value, side: Value, parts: Gearbox) -> None:
        """A part of an operand, out of registers."""
        address = Signal(len(load.first), name="next_address")
        within = Signal()
        place = Mux(within, address, load.first)
        part = Signal(len(self.unit_write.data), reset_less=True)
        found = parts.o.payload
        with m.If(takes):
            m.d.sync += [address.eq(place + 1), within.eq(~found.last), part.eq(found.data)]
        with m.If(self.stop):
            m.d.sync += within.eq(0)
        target = Signal(len(self.unit_write.address), reset_less=True)
        target_side = Signal(reset_less=True)
        m.d.sync += [target.eq(place), target_side.eq(side)]
        for name, write, chosen in (
            ("unit", self.unit_write, ~load.scalar),
            ("scalar", self.scalar_write, load.scalar),
        ):
            writes = Signal(name=f"writes_{name}")
            m.d.sync += writes.eq(takes & chosen & ~self.stop)
            m.d.comb += [
                write.enable.eq(writes),
                write.side.eq(target_side),
                write.address.eq(target),
                write.data.eq(part),
            ]

    def _count(self, m: Module) -> Value:
        """Counts the tiles that are inside; returns whether there are any."""
        inside = Signal(range(_TILES + 1))
        came = self.tiles.valid & self.tiles.ready
        went = self.token.valid & self.token.ready
        with m.If(self.stop):
            m.d.sync += inside.eq(0)
        with m.Else():
            m.d.sync += inside.eq(inside + came - went)
        return inside.any()
