"""Where the pairs of rows of B are."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...channels.channel_of_row import ChannelOfRow
from ...channels.stripe_walk import span_layout
from ...spec.c2sr import PAIR_BYTES
from ...spec.matraptor import MatRaptorConfig
from ...stream.connect import connect_fields
from ...stream.fork import Fork
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
        # To the rows, and to the spans if there is a row of B.
        m.submodules.row_fork = fork = Fork(locate.o.payload.shape(), 2)
        wiring.connect(m, locate.o, fork.i)
        beat_bits = (config.beat_bytes // PAIR_BYTES).bit_length() - 1
        block_bits = (config.layout.block_pairs - 1).bit_length()
        m.d.comb += [
            locate.clear.eq(self.clear),
            locate.i.valid.eq(self.i.valid),
            self.i.ready.eq(locate.i.ready),
            locate.i.payload.row.eq(self.i.payload.column),
            locate.i.payload.carried.eq(self.i.payload),
            fork.to.eq(Cat(1, locate.o.payload.carried.present)),
        ]
        kept, asked = fork.o
        token, place = kept.payload.carried, asked.payload
        row = {name: token[name] for name in ("present", "row_last", "lane_last", "row")}
        if beat_bits:
            row["pair"] = kept.payload.index[:beat_bits]
        connect_fields(m, kept, self.o, **row, a=token.value, channel=kept.payload.channel)
        span = {"channel": place.channel, "block": place.index[block_bits:], "beats": 1}
        if config.burst_beats > 1:
            span["beat"] = place.index[beat_bits:block_bits]
        connect_fields(m, asked, self.spans, **span)
        return m
