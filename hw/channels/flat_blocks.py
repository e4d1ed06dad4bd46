"""The blocks of an array at consecutive addresses, one channel after the other."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.channels import ChannelGeometry
from .stripe_walk import BLOCK_BITS, span_layout

__all__ = ["FlatBlocks"]


class FlatBlocks(wiring.Component):
    """Sends the blocks of an array, from block 0 on, as spans of one block each. One span per
    cycle, no latency.

    Block n is in channel ``n % channels`` and is that channel's block ``n // channels``, so that an
    array at consecutive addresses is one in all channels.

    Parameters
    ----------
    geometry: of the memory's channels

    Members
    -------
    start: in, a pulse: from block 0
    want: in; the next block is wanted
    taken: out; it is taken
    spans: see ``span_layout``
    """

    def __init__(self, geometry: ChannelGeometry) -> None:
        self._geometry = geometry
        super().__init__(
            {
                "start": In(1),
                "want": In(1),
                "taken": Out(1),
                "spans": Out(stream.Signature(span_layout(geometry))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry, span = self._geometry, self.spans.payload
        channel = Signal(geometry.channel_bits)
        block = Signal(BLOCK_BITS)
        m.d.comb += [
            self.spans.valid.eq(self.want),
            self.taken.eq(self.want & self.spans.ready),
            span.channel.eq(channel),
            span.block.eq(block),
            span.beats.eq(geometry.block_beats),
        ]
        with m.If(self.taken):
            m.d.sync += channel.eq(channel + 1)
            with m.If(channel == geometry.channels - 1):
                m.d.sync += [channel.eq(0), block.eq(block + 1)]
        with m.If(self.start):
            m.d.sync += [channel.eq(0), block.eq(0)]
        return m
