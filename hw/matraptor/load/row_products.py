"""The products of a row: an entry of A with each entry of a row of B."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...channels.c2sr_words import entry_of, entry_place
from ...spec.matraptor import MatRaptorConfig
from ...stream.output_register import OutputRegister
from ..layouts import product_layout
from .row_spans import product_row_layout

__all__ = ["RowProducts"]


class RowProducts(wiring.Component):
    """Sends the entries of each row of B with the entry of A. Latency one cycle; a token a cycle.

    Members
    -------
    i: see ``product_row_layout``
    beats: those of each row that is ``present``
    o: see ``product_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(product_row_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(product_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.sent = sent = OutputRegister(product_layout(config), clearable=True)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        row, token = self.i.payload, sent.i.payload
        # After the first entry of a row.
        within = Signal()
        next_left = Signal(len(row.length), reset_less=True)
        left = Signal(len(row.length))
        ends = Signal()
        moved = Signal()
        number, beat_done = entry_place(m, config.beat_entries, row, within=within, moved=moved)
        value, column = entry_of(config.layout, self.beats.payload.data, number)
        m.d.comb += [
            left.eq(Mux(within, next_left, row.length)),
            ends.eq(~row.present | (left == 1)),
            sent.clear.eq(self.clear),
            sent.i.valid.eq(self.i.valid & (self.beats.valid | ~row.present)),
            moved.eq(sent.i.valid & sent.i.ready),
            self.i.ready.eq(moved & ends),
            self.beats.ready.eq(moved & row.present & (ends | beat_done)),
            token.a.eq(row.a),
            token.b.eq(value),
            token.column.eq(column),
            token.b_last.eq(ends & row.present),
            token.present.eq(row.present),
            token.row_last.eq(ends & row.row_last),
            token.lane_last.eq(ends & row.lane_last),
            token.row.eq(row.row),
        ]
        with m.If(moved):
            m.d.sync += [within.eq(~ends), next_left.eq(left - 1)]
        with m.If(self.clear):
            m.d.sync += within.eq(0)
        return m
