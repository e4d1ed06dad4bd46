"""Where the pairs of rows of B are."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...channels.channel_of_row import ChannelOfRow
from ...channels.stripe_walk import span_layout
from ...spec.c2sr import PAIR_BYTES
from ...spec.matraptor import MatRaptorConfig
from ..layouts import left_layout
from .row_spans import asked_row_layout

__all__ = ["RowLookup"]


class RowLookup(wiring.Component):
    """Asks for the pair of the row of B that each entry of A names.

    One entry a cycle, in as many cycles as ``ChannelOfRow`` takes.

    Members
    -------
    i: see ``left_layout``
    o: see ``asked_row_layout``; every token, in order
    spans: see ``span_layout``; one for each that is ``present``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(left_layout(config))),
                "o": Out(stream.Signature(asked_row_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        carried = left_layout(config)
        m.submodules.locate = locate = ChannelOfRow(config.index_bits, config.channels, carried)
        place, token = locate.o.payload, locate.o.payload.carried
        beat_bits = (config.beat_bytes // PAIR_BYTES).bit_length() - 1
        block_bits = (config.layout.block_pairs - 1).bit_length()
        both = Signal()
        span, row = self.spans.payload, self.o.payload
        m.d.comb += [
            locate.clear.eq(self.clear),
            locate.i.valid.eq(self.i.valid),
            self.i.ready.eq(locate.i.ready),
            locate.i.payload.row.eq(self.i.payload.column),
            locate.i.payload.carried.eq(self.i.payload),
            both.eq(self.o.ready & (self.spans.ready | ~token.present)),
            locate.o.ready.eq(both),
            self.o.valid.eq(locate.o.valid & (self.spans.ready | ~token.present)),
            self.spans.valid.eq(locate.o.valid & token.present & self.o.ready),
            span.channel.eq(place.channel),
            span.block.eq(place.index[block_bits:]),
            span.beats.eq(1),
            row.a.eq(token.value),
            row.channel.eq(place.channel),
        ]
        for name in ("present", "row_last", "lane_last", "row"):
            m.d.comb += row[name].eq(token[name])
        if beat_bits:
            m.d.comb += row.pair.eq(place.index[:beat_bits])
        if config.burst_beats > 1:
            m.d.comb += span.beat.eq(place.index[beat_bits:block_bits])
        return m
