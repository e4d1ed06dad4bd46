"""Computes the beats that hold the entries of rows; no beat is read twice in succession."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..channels.flat_blocks import FlatBlocks
from ..channels.stripe_walk import span_layout
from ..spec.c2sr_converter import C2srConverterConfig
from ..stream.connect import connect_fields
from ..stream.fork import Fork
from ..stream.output_register import OutputRegister
from .writer import found_row_layout

__all__ = ["RowSpans", "asked_span_layout"]

_FINAL_BITS = 33


def asked_span_layout(config: C2srConverterConfig) -> data.StructLayout:
    """Row whose beats are requested: ``length``, the ``place`` of its first entry in its beat (no
    field if a beat is one entry), whether that beat is ``held``, because it is the last one of the
    previous row with entries, and whether the row is the ``last``."""
    fields: dict[str, ShapeLike] = {"length": 32, "held": 1, "last": 1}
    if config.beat_entries > 1:
        fields["place"] = (config.beat_entries - 1).bit_length()
    return data.StructLayout(fields)


class RowSpans(wiring.Component):
    """Requests the beats of rows, except a beat that the previous row has already fetched.

    In C2SR that is done row by row, in CSR by whole blocks, one after the other, as far as the rows
    reach. Latency one cycle; a row a cycle, a block a cycle.

    Members
    -------
    start: in, a pulse while nothing is inside
    flat: in; the rows are those of CSR; constant from ``start`` on
    i: see ``found_row_layout``
    o: see :func:`asked_span_layout`
    spans: see ``span_layout``; in order
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "flat": In(1),
                "i": In(stream.Signature(found_row_layout(config))),
                "o": Out(stream.Signature(asked_span_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        found = found_row_layout(self._config)
        fields = {name: field.shape for name, field in found}
        ended = OutputRegister(data.StructLayout({**fields, "final": _FINAL_BITS}), clearable=True)
        m.submodules.ended = ended
        m.d.comb += [
            ended.clear.eq(self.clear),
            ended.i.valid.eq(self.i.valid),
            self.i.ready.eq(ended.i.ready),
            # The row's last entry.
            ended.i.payload.final.eq(self.i.payload.pointer + self.i.payload.length - 1),
        ]
        m.d.comb += [ended.i.payload[name].eq(self.i.payload[name]) for name in fields]
        row = ended.o.payload
        some = Signal()
        needs = Signal()
        more = Signal()
        # The row waits for none of its blocks, which may be more than can be in flight.
        m.submodules.row_fork = fork = Fork(row.shape(), 2, eager=True)
        wiring.connect(m, ended.o, fork.i)
        kept, asked = fork.o
        m.d.comb += some.eq(row.length != 0)
        held = self._held(m, ended, some)
        row_needs = self._of_row(m, row, some, held)
        block_needs, block_more = self._of_blocks(m, ended, some)
        m.d.comb += [
            needs.eq(Mux(self.flat, block_needs, row_needs)),
            more.eq(self.flat & block_more),
            fork.clear.eq(self.clear),
            self.spans.valid.eq(asked.valid & needs),
            asked.ready.eq(~more & (self.spans.ready | ~needs)),
        ]
        entry = kept.payload
        place = {"place": entry.pointer} if self._config.beat_entries > 1 else {}
        connect_fields(m, kept, self.o, **place, length=entry.length, last=entry.last, held=held)
        return m

    def _held(self, m: Module, ended: OutputRegister, some: Value) -> Value:
        """Returns whether the row begins in the beat in which the last row with entries ended."""
        row = ended.o.payload
        bits = self._config.beat_entries.bit_length() - 1
        some_held = Signal()
        beat = Signal(_FINAL_BITS - bits, reset_less=True)
        channel = Signal(len(row.channel), reset_less=True)
        held = Signal()
        m.d.comb += held.eq(some_held & (channel == row.channel) & (beat == row.pointer[bits:]))
        with m.If(ended.o.valid & ended.o.ready & some):
            m.d.sync += [some_held.eq(1), beat.eq(row.final[bits:]), channel.eq(row.channel)]
        with m.If(self.start):
            m.d.sync += some_held.eq(0)
        return held

    def _of_row(self, m: Module, row: data.View, some: Value, held: Value) -> Value:
        """Exactly the beats of the row; returns whether there are any."""
        config, span = self._config, self.spans.payload
        bits = config.beat_entries.bit_length() - 1
        block_bits = config.geometry.block_beat_bits
        first = Signal(_FINAL_BITS - bits, name="first_beat")
        beats = Signal(len(span.beats), name="row_beats")
        m.d.comb += [
            first.eq(row.pointer[bits:] + held),
            beats.eq(row.final[bits:] - row.pointer[bits:] + ~held),
        ]
        with m.If(~self.flat):
            m.d.comb += [
                span.channel.eq(row.channel),
                span.block.eq(first[block_bits:]),
                span.beats.eq(beats),
            ]
            if block_bits:
                m.d.comb += span.beat.eq(first[:block_bits])
        return some & (beats != 0)

    def _of_blocks(self, m: Module, ended: OutputRegister, some: Value) -> tuple[Value, Value]:
        """Whole blocks, up to that of the row's last entry; returns whether the next one is still
        to be read, and whether more are."""
        row, span = ended.o.payload, self.spans.payload
        bits = self._config.layout.block_entries.bit_length() - 1
        m.submodules.blocks = blocks = FlatBlocks(self._config.geometry)
        following = Signal(_FINAL_BITS - bits, name="next_block")
        taken = Signal()
        final = row.final[bits:]
        m.d.comb += [
            blocks.start.eq(self.start),
            blocks.want.eq(self.flat & self.spans.valid),
            blocks.spans.ready.eq(self.spans.ready),
            taken.eq(blocks.taken),
        ]
        with m.If(self.flat):
            m.d.comb += span.eq(blocks.spans.payload)
        with m.If(taken):
            m.d.sync += following.eq(following + 1)
        with m.If(self.start):
            m.d.sync += following.eq(0)
        return some & (following <= final), some & (following < final)
