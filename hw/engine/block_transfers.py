"""Brings the blocks of an operand from memory, as beats with their places."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout, request_layout, store_layout
from ..spec.engine import EngineConfig
from ..stream.fork_join import Fork, connect_fields
from ..stream.queue import Queue
from ..stream.stream_registers import SkidBuffer
from .layouts import Sizes, job_layout, log2
from .operand_walk import RowWalker, connect_walk, row_layout


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
        # `request.ready` comes late, from the arbiter of the bus: the walk must not wait for it.
        m.submodules.row_buffer = buffer = SkidBuffer(
            row_layout(config), output_register=False, clearable=True
        )
        m.submodules.row_fork = fork = Fork(row_layout(config), 2)
        wiring.connect(m, walker.o, buffer.i)
        wiring.connect(m, buffer.o, fork.i)
        asked, noted = fork.o
        beats = asked.payload.last_beat + 1
        connect_fields(m, asked, self.request, address=asked.payload.address, beats=beats)
        fields = {name: noted.payload[name] for name in ("row", "buffer", "last")}
        connect_fields(m, noted, tags.i, **fields)
        m.d.comb += [
            walker.start.eq(self.start),
            walker.stop.eq(self.stop),
            walker.credit.eq(claimed != 2),
            buffer.clear.eq(self.stop),
            self.running.eq(walker.running | buffer.o.valid | tags.o.valid),
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


class Storer(wiring.Component):
    """Requests a burst writer to write the rows of finished blocks, and reads their beats.

    A beat a cycle, two cycles after it is read. The strobes of a row's last beat end with the last
    column of D.

    Members
    -------
    job, start, stop: see :class:`RowWalker`
    computed: pulse: a block of D is complete
    stored: pulse: the last beat of a block has left, its buffer is free
    running: rows are left to store
    request, o: streams to a burst writer
    read, place: a beat is to be read from the result scratchpad
    advance: the beat that was read moves into the scratchpad's register; beat: its content
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._sizes = Sizes(config)
        request = request_layout(config.addr_bits, config.longest_row.bit_length())
        super().__init__(
            {
                "job": In(job_layout(config)),
                **{name: In(1) for name in ("start", "stop", "computed")},
                **{name: Out(1) for name in ("stored", "running", "read", "advance")},
                "request": Out(stream.Signature(request)),
                "o": Out(stream.Signature(store_layout(config.data_bits))),
                "place": Out(place_layout(config)),
                "beat": In(config.data_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.walker = walker = RowWalker(config)
        connect_walk(m, config, walker, "d", self.job)
        row = {"row": self._sizes.row_bits, "last_beat": self._sizes.beat_bits}
        tag = data.StructLayout({**row, "buffer": 1, "last": 1, "right": 1})
        m.submodules.tags = tags = Queue(tag, 4)
        complete = Signal(range(3))
        m.submodules.row_fork = fork = Fork(row_layout(config), 2)
        wiring.connect(m, walker.o, fork.i)
        asked, noted = fork.o
        beats = asked.payload.last_beat + 1
        connect_fields(m, asked, self.request, address=asked.payload.address, beats=beats)
        fields = {name: noted.payload[name] for name in ("row", "last_beat", "buffer", "last")}
        connect_fields(m, noted, tags.i, **fields, right=walker.at_j_last)
        m.d.comb += [
            walker.start.eq(self.start),
            walker.stop.eq(self.stop),
            walker.credit.eq(complete != 0),
        ]
        m.d.sync += complete.eq(complete + self.computed - walker.claim)
        with m.If(self.start):
            m.d.sync += complete.eq(0)
        left = self._beats(m, tags)
        m.d.comb += self.running.eq(walker.running | tags.o.valid | left)
        return m

    def _beats(self, m: Module, tags: Queue) -> Value:
        """Read a beat a cycle; returns whether one was read that is not yet taken."""
        at_beat = Signal(self._sizes.beat_bits)
        fetched = Signal()
        valid = Signal()
        at_end = Signal()
        # Whether the beat ends its block, and whether it has the last column of D.
        fetched_ends = Signal(data.StructLayout({"block": 1, "right": 1}))
        ends = Signal.like(fetched_ends)
        tag = tags.o.payload
        m.d.comb += [
            at_end.eq(at_beat == tag.last_beat),
            self.advance.eq(fetched & (~valid | self.o.ready)),
            self.read.eq(tags.o.valid & (~fetched | self.advance) & ~self.stop),
            self.place.row.eq(tag.row),
            self.place.beat.eq(at_beat),
            self.place.buffer.eq(tag.buffer),
            self.place.last.eq(tag.last & at_end),
            tags.o.ready.eq((self.read & at_end) | self.stop),
            self.o.valid.eq(valid),
            self.o.payload.data.eq(self.beat),
            self.o.payload.strobe.eq(Mux(ends.right, self._last_strobe(), -1)),
            self.stored.eq(valid & self.o.ready & ends.block),
        ]
        with m.If(self.read):
            m.d.sync += [
                at_beat.eq(Mux(at_end, 0, at_beat + 1)),
                fetched_ends.block.eq(self.place.last),
                fetched_ends.right.eq(tag.right & at_end),
            ]
        with m.If(self.advance):
            m.d.sync += ends.eq(fetched_ends)
        with m.If(self.read | self.advance | self.stop):
            m.d.sync += fetched.eq(self.read)
        with m.If(self.advance | self.o.ready | self.stop):
            m.d.sync += valid.eq(self.advance & ~self.stop)
        with m.If(self.start):
            m.d.sync += at_beat.eq(0)
        return fetched | valid

    def _last_strobe(self) -> Value:
        """The bytes of the last beat of the last column's row that belong to D."""
        config = self._config
        strobe: Value = Const(0)
        for index, bits in enumerate(config.result_widths):
            per_beat = config.data_bits // bits
            last = self.job.n1[: log2(per_beat)]
            option = Cat(
                (Const(1) if n == 0 else last >= n).replicate(bits // 8) for n in range(per_beat)
            )
            strobe = Mux(self.job.result[index], option, strobe) if index else option
        return strobe
