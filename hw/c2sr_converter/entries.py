"""The entries of rows, from beats that rows may share."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout
from ..channels.c2sr_words import entry_of, entry_place
from ..spec.c2sr_converter import C2srConverterConfig
from ..stream.output_register import OutputRegister
from .layouts import entry_token_layout
from .row_spans import asked_span_layout

__all__ = ["SharedEntries"]


class SharedEntries(wiring.Component):
    """Sends the entries of each row, or that it has none. Latency one cycle; a token a cycle.

    The last beat stays, for a row that begins in it.

    Members
    -------
    start: in, a pulse while nothing is inside
    i: see ``asked_span_layout``
    beats: those of the rows; what comes after the last row is dropped
    o: see ``entry_token_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "i": In(stream.Signature(asked_span_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(entry_token_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.sent = sent = OutputRegister(entry_token_layout(config), clearable=True)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        row, token = self.i.payload, sent.i.payload
        # After the first entry of a row, and after the last row.
        within = Signal()
        after = Signal()
        next_left = Signal(len(row.length), reset_less=True)
        left = Signal(len(row.length))
        kept = Signal(config.data_bits, reset_less=True)
        next_held = Signal()
        held = Signal()
        empty = Signal()
        ends = Signal()
        moved = Signal()
        number, beat_done = entry_place(m, config.beat_entries, row, within=within, moved=moved)
        beat = Mux(held, kept, self.beats.payload.data)
        value, column = entry_of(config.layout, beat, number)
        m.d.comb += [
            left.eq(Mux(within, next_left, row.length)),
            held.eq(Mux(within, next_held, row.held)),
            empty.eq(~within & (row.length == 0)),
            ends.eq(empty | (left == 1)),
            sent.clear.eq(self.clear),
            sent.i.valid.eq(self.i.valid & (empty | held | self.beats.valid)),
            moved.eq(sent.i.valid & sent.i.ready),
            self.i.ready.eq(moved & ends),
            self.beats.ready.eq(after | (moved & ~empty & ~held & (ends | beat_done))),
            token.value.eq(value),
            token.column.eq(column),
            token.present.eq(~empty),
            token.row_last.eq(ends),
            token.last.eq(ends & row.last),
        ]
        with m.If(moved):
            m.d.sync += [
                within.eq(~ends),
                next_left.eq(left - 1),
                next_held.eq(held & ~beat_done),
            ]
            with m.If(ends & row.last):
                m.d.sync += after.eq(1)
        with m.If(self.beats.valid & self.beats.ready):
            m.d.sync += kept.eq(self.beats.payload.data)
        with m.If(self.start | self.clear):
            m.d.sync += [within.eq(0), after.eq(0)]
        return m
