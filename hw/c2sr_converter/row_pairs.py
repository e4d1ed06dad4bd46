"""The pairs of all rows of a matrix in C2SR, in the order of the rows."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout
from ..channels.c2sr_words import pair_of
from ..channels.stripe_walk import BLOCK_BITS, span_layout
from ..spec.c2sr import PAIR_BYTES
from ..spec.c2sr_converter import C2srConverterConfig
from .writer import found_row_layout

__all__ = ["StripePairs"]

_ROW_BITS = 32


class StripePairs(wiring.Component):
    """Requests beats from all channels round robin, and extracts the rows' pairs from them.

    A beat has the pairs of several rows of its channel, between which those of the other channels
    come: it is kept until then, so that each is read once. A row a cycle, no latency.

    Members
    -------
    start: in, a pulse while no row is left
    rows: in; of the matrix, at least 1, sampled with ``start``
    spans: see ``span_layout``; a beat each
    beats: those
    o: see ``found_row_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "rows": In(_ROW_BITS),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(found_row_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def _beat_pairs(self) -> int:
        return self._config.beat_bytes // PAIR_BYTES

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._ask(m)
        self._take(m)
        return m

    def _ask(self, m: Module) -> None:
        """Requests one beat from each channel that has rows, then the next beat from each."""
        config, span = self._config, self.spans.payload
        group = config.channels * self._beat_pairs
        # Rows whose pairs are in beats that are not requested yet, this round's channels included.
        left = Signal(_ROW_BITS, name="rows_to_ask")
        channel = Signal(config.layout.channel_bits, name="asked_channel")
        block = Signal(BLOCK_BITS)
        beat = Signal(range(max(2, config.geometry.block_beats)))
        round_ends = Signal()
        m.d.comb += [
            self.spans.valid.eq(left != 0),
            span.channel.eq(channel),
            span.block.eq(block),
            span.beats.eq(1),
            round_ends.eq((channel == config.channels - 1) | (left == channel + 1)),
        ]
        if config.geometry.block_beats > 1:
            m.d.comb += span.beat.eq(beat)
        with m.If(self.spans.valid & self.spans.ready):
            m.d.sync += channel.eq(channel + 1)
            with m.If(round_ends):
                m.d.sync += [channel.eq(0), left.eq(Mux(left > group, left - group, 0))]
                if config.geometry.block_beats > 1:
                    m.d.sync += [beat.eq(beat + 1), block.eq(block + beat.all())]
                else:
                    m.d.sync += block.eq(block + 1)
        with m.If(self.start):
            m.d.sync += [left.eq(self.rows), channel.eq(0), block.eq(0), beat.eq(0)]
        with m.If(self.clear):
            m.d.sync += left.eq(0)

    def _take(self, m: Module) -> None:
        config, row = self._config, self.o.payload
        left = Signal(_ROW_BITS, name="rows_to_take")
        channel = Signal(config.layout.channel_bits, name="taken_channel")
        moved = Signal()
        beat, number, fresh = self._beat(m, channel, moved)
        length, pointer = pair_of(beat, number)
        here = Signal()
        m.d.comb += [
            here.eq((left != 0) & (self.beats.valid | ~fresh)),
            self.o.valid.eq(here),
            moved.eq(here & self.o.ready),
            self.beats.ready.eq(moved & fresh),
            row.channel.eq(channel),
            row.length.eq(length),
            row.pointer.eq(pointer),
            row.last.eq(left == 1),
        ]
        with m.If(moved):
            m.d.sync += [left.eq(left - 1), channel.eq(channel + 1)]
            with m.If(channel == config.channels - 1):
                m.d.sync += channel.eq(0)
        with m.If(self.start):
            m.d.sync += [left.eq(self.rows), channel.eq(0)]
        with m.If(self.clear):
            m.d.sync += left.eq(0)

    def _beat(self, m: Module, channel: Value, moved: Value) -> tuple[Value, Value, Value]:
        """The beat with the next row's pair, the pair's number in it, and whether it is new."""
        config, count = self._config, self._beat_pairs
        if count == 1:
            return self.beats.payload.data, Const(0), Const(1)
        number = Signal(range(count))
        fresh = Signal()
        m.submodules.kept = kept = Memory(
            shape=config.data_bits, depth=max(2, config.channels), init=[]
        )
        write, read = kept.write_port(), kept.read_port(domain="comb")
        m.d.comb += [
            fresh.eq(number == 0),
            write.en.eq(moved & fresh),
            write.addr.eq(channel),
            write.data.eq(self.beats.payload.data),
            read.addr.eq(channel),
        ]
        with m.If(moved & (channel == config.channels - 1)):
            m.d.sync += number.eq(number + 1)
        with m.If(self.start):
            m.d.sync += number.eq(0)
        return Mux(fresh, self.beats.payload.data, read.data), number, fresh
