"""From the dense operands in memory to the scratchpads."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.supervision import supervise
from ...spec.tensaurus import TensaurusConfig
from ...stream.fork import Fork
from ...stream.gearbox import Gearbox
from ...stream.output_register import OutputRegister
from ...stream.skid_buffer import SkidBuffer
from ..layouts import (
    job_layout,
    scalar_write_layout,
    tile_layout,
    tile_token_layout,
    unit_write_layout,
)
from .lines import connect_bus, line_reader, reader_members
from .operand_loads import OperandLoads, load_layout
from .operand_sides import OperandSides

__all__ = ["MatrixLoader"]

_TILES = 31
"""More than there is room for inside."""


class MatrixLoader(wiring.Component):
    """Brings each tile's operands into the other side of their regions, then tells the rows.

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
        """What is read to the scratchpads, operand after operand, and a token behind the last of a
        tile. Returns whether tiles are inside."""
        load: Any = writes.o.payload
        m.submodules.sides = sides = OperandSides(self._config)
        m.submodules.told = told = OutputRegister(tile_token_layout(self._config), clearable=True)
        wiring.connect(m, told.o, wiring.flipped(self.token))
        # All operands of a tile are there, and its token is not sent.
        due = Signal()
        takes = Signal()
        done = Signal()
        # Those that there are: as many as an operand's number tells apart.
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
        """Whether tiles are inside."""
        inside = Signal(range(_TILES + 1))
        came = self.tiles.valid & self.tiles.ready
        went = self.token.valid & self.token.ready
        with m.If(self.stop):
            m.d.sync += inside.eq(0)
        with m.Else():
            m.d.sync += inside.eq(inside + came - went)
        return inside.any()
