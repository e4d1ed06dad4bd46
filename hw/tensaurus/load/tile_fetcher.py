"""Reads the list of tiles, and hands each tile to all that work on it."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.supervision import supervise
from ...channels.striped_reader import StripedReader
from ...spec.tensaurus import TensaurusConfig
from ...spec.tensaurus_tiles import TILE_BYTES
from ...stream.fork import Fork
from ...stream.gearbox import Gearbox
from ...stream.skid_buffer import SkidBuffer
from ..layouts import job_layout, tile_layout
from .lines import connect_bus, line_reader, reader_members
from .tile_check import TileCheck

__all__ = ["USERS", "TileFetcher"]

USERS = ("matrices", "tensor", "store")
"""Who gets each tile."""

_BLOCKS = 2
"""Slots of a channel: a description is short."""


class TileFetcher(wiring.Component):
    """Reads descriptions ahead, checks them (:class:`TileCheck`) and offers each tile to its users.

    Each user has room for two tiles that wait for it.

    Members
    -------
    job: in; constant from ``start`` on
    start: in, a pulse when ``idle``
    tiles: array of streams, by ``USERS``, see ``tile_layout``
    wrong, number: out; the tile ``number`` is wrong: those before it go to all users, it does not,
        and nothing behind it; until ``stop``
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle``: all tiles were taken
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "start": In(1),
                "tiles": Out(stream.Signature(tile_layout(config))).array(len(USERS)),
                "wrong": Out(1),
                "number": Out(32),
                **reader_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.reader = reader = line_reader(self._config, _BLOCKS, requests=2)
        m.submodules.words = words = Gearbox(config.line_bytes, (TILE_BYTES,), 32)
        m.submodules.check = check = TileCheck(config)
        m.submodules.fork = fork = Fork(tile_layout(config), len(USERS), eager=True)
        wiring.connect(m, check.o, fork.i)
        for index, (user, tiles) in enumerate(zip(USERS, self.tiles, strict=True)):
            queue = SkidBuffer(tile_layout(config), clearable=True)
            m.submodules[f"{user}_queue"] = queue
            wiring.connect(m, fork.o[index], queue.i)
            wiring.connect(m, queue.o, wiring.flipped(tiles))
            m.d.comb += queue.clear.eq(self.stop)
        busy = Signal()
        m.d.comb += [
            words.clear.eq(self.stop),
            check.clear.eq(self.stop),
            fork.clear.eq(self.stop),
            check.job.eq(self.job),
            check.start.eq(self.start),
            words.lines.valid.eq(reader.o.valid),
            reader.o.ready.eq(words.lines.ready),
            words.lines.payload.eq(reader.o.payload.data),
            check.words.valid.eq(words.o.valid),
            words.o.ready.eq(check.words.ready),
            check.words.payload.eq(words.o.payload.data),
            self.wrong.eq(check.wrong),
            self.number.eq(check.number),
        ]
        self._request(m, reader, words)
        with m.If(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(check.o.valid & check.o.ready & check.o.payload.final):
            m.d.sync += busy.eq(0)
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        supervise(m, self, [reader], busy=busy | Cat(tiles.valid for tiles in self.tiles).any())
        connect_bus(m, self, reader)
        return m

    def _request(self, m: Module, reader: StripedReader, words: Gearbox) -> None:
        """The whole list."""
        asks = Signal()
        cuts = Signal()
        m.d.comb += [
            reader.request.valid.eq(asks),
            reader.request.payload.address.eq(self.job.list),
            reader.request.payload.bytes.eq(self.job.tiles * TILE_BYTES),
            words.request.valid.eq(cuts),
            words.request.payload.count.eq(self.job.tiles),
        ]
        with m.If(self.start):
            m.d.sync += [asks.eq(1), cuts.eq(1)]
        with m.Else():
            with m.If(reader.request.ready):
                m.d.sync += asks.eq(0)
            with m.If(words.request.ready):
                m.d.sync += cuts.eq(0)
        with m.If(self.stop):
            m.d.sync += [asks.eq(0), cuts.eq(0)]
