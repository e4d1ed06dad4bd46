"""Brings the blocks of an operand from memory, as beats with their places."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout, request_layout
from ..spec.engine import EngineConfig
from ..stream.connect import connect_fields
from ..stream.fork import Fork
from ..stream.queue import Queue
from .layouts import Sizes, job_layout
from .operand_walk import connect_walk
from .row_walker import RowWalker, row_layout

__all__ = ["Loader", "place_layout"]


def place_layout(config: EngineConfig) -> data.StructLayout:
    """Place of a beat: row of the block, beat of the row, buffer; ``last``: it is the block's last
    beat."""
    sizes = Sizes(config)
    return data.StructLayout(
        {"row": sizes.row_bits, "beat": sizes.beat_bits, "buffer": 1, "last": 1}
    )


class Loader(wiring.Component):
    """Requests the rows of an operand's blocks and places their beats in the scratchpad.

    Two buffers: a block's rows are requested once fewer than two blocks are ``claim``ed and not
    yet ``freed``.

    Parameters
    ----------
    config: the engine's configuration
    operand: "a", "b" or "c"

    Members
    -------
    job, start, stop: see :class:`RowWalker`
    request, i: streams of a burst reader
    write: a beat has come, with its place and its data
    loaded: the last beat of a block has come
    freed: a block's buffer is free again
    running: rows are left to request or to come
    """

    def __init__(self, config: EngineConfig, operand: str) -> None:
        self._config = config
        self._operand = operand
        request = request_layout(config.addr_bits, config.longest_row.bit_length())
        super().__init__(
            {
                "job": In(job_layout(config)),
                "start": In(1),
                "stop": In(1),
                "freed": In(1),
                "request": Out(stream.Signature(request)),
                "i": In(stream.Signature(data_layout(config.data_bits))),
                "write": Out(1),
                "place": Out(place_layout(config)),
                "data": Out(config.data_bits),
                "loaded": Out(1),
                "running": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.walker = walker = RowWalker(config)
        connect_walk(m, config, walker, self._operand, self.job)
        tag = data.StructLayout({"row": Sizes(config).row_bits, "buffer": 1, "last": 1})
        m.submodules.tags = tags = Queue(tag, max(2 * config.outstanding, 16))
        claimed = Signal(range(3))
        m.submodules.row_fork = fork = Fork(row_layout(config), 2)
        wiring.connect(m, walker.o, fork.i)
        asked, noted = fork.o
        beats = asked.payload.last_beat + 1
        connect_fields(m, asked, self.request, address=asked.payload.address, beats=beats)
        fields = {name: noted.payload[name] for name in ("row", "buffer", "last")}
        connect_fields(m, noted, tags.i, **fields)
        m.d.comb += [
            walker.start.eq(self.start),
            walker.stop.eq(self.stop),
            walker.credit.eq(claimed != 2),
            self.running.eq(walker.running | tags.o.valid),
        ]
        m.d.sync += claimed.eq(claimed + walker.claim - self.freed)
        with m.If(self.start):
            m.d.sync += claimed.eq(0)
        self._data(m, tags)
        return m

    def _data(self, m: Module, tags: Queue) -> None:
        """Writes beats in the order of the requests; a stop empties the queue of places."""
        beat = Signal(Sizes(self._config).beat_bits)
        tag = tags.o.payload
        m.d.comb += [
            self.i.ready.eq(tags.o.valid & ~self.stop),
            self.write.eq(self.i.valid & self.i.ready),
            self.data.eq(self.i.payload.data),
            self.place.row.eq(tag.row),
            self.place.beat.eq(beat),
            self.place.buffer.eq(tag.buffer),
            self.place.last.eq(tag.last & self.i.payload.last),
            self.loaded.eq(self.write & self.place.last),
            tags.o.ready.eq((self.write & self.i.payload.last) | self.stop),
        ]
        with m.If(self.write):
            m.d.sync += beat.eq(Mux(self.i.payload.last, 0, beat + 1))
        with m.If(self.start):
            m.d.sync += beat.eq(0)
