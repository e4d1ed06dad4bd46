"""Walks the beats of an array that lies in one channel."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import routed_layout
from ..spec.channels import ChannelGeometry
from ..stream.stream_registers import OutputRegister, SkidBuffer
from .channel_of_row import ChannelOfRow

BLOCK_BITS = 32
BEATS_BITS = 34
"""Bits of the number of a row's beats: 2**32 entries in as many beats, and whole blocks around
them."""


def span_layout(geometry: ChannelGeometry) -> data.StructLayout:
    """Consecutive beats of an array in a channel: ``channel``, ``block`` and ``beat`` of the first
    (no field if a block is one beat), ``beats``, at least one."""
    fields: dict[str, ShapeLike] = {
        "channel": geometry.channel_bits,
        "block": BLOCK_BITS,
        "beats": BEATS_BITS,
    }
    if geometry.block_beats > 1:
        fields["beat"] = geometry.block_beat_bits
    return data.StructLayout(fields)


class StripeWalk(wiring.Component):
    """Turns spans of an array in a channel into bursts within blocks of the interleaving.

    Block n of the array is in stripe n of memory, at the channel's place. Latency three cycles;
    one burst a cycle, over boundaries of spans too.

    Parameters
    ----------
    geometry: of the memory's channels
    skid: whether a skid buffer cuts the path from ``o.ready`` to ``i.ready``
    flat: whether it may also walk an array at consecutive addresses

    Members
    -------
    base: in; flat address of the array, a multiple of a stripe; constant
    consecutive: (flat) in; a span goes on in the next block of memory, in the next channel;
        constant while there are spans
    i: see :func:`span_layout`
    o: see ``routed_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(
        self, geometry: ChannelGeometry, *, skid: bool = False, flat: bool = False
    ) -> None:
        self._geometry = geometry
        self._skid, self._flat = skid, flat
        request = routed_layout(geometry.addr_bits, geometry.channel_bits)
        super().__init__(
            {
                "base": In(geometry.addr_bits),
                "i": In(stream.Signature(span_layout(geometry))),
                "o": Out(stream.Signature(request)),
                "clear": In(1),
                **({"consecutive": In(1)} if flat else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry = self._geometry
        block_shift = geometry.block_shift
        place_bits = geometry.addr_bits - block_shift
        # Blocks of flat memory, counted.
        placed = data.StructLayout({**dict(_fields(geometry)), "block": place_bits})
        m.submodules.striped = striped = OutputRegister(placed, clearable=True)
        m.submodules.placed = based = OutputRegister(placed, clearable=True)
        span = self.i.payload
        m.d.comb += [
            striped.clear.eq(self.clear),
            based.clear.eq(self.clear),
            striped.i.valid.eq(self.i.valid),
            self.i.ready.eq(striped.i.ready),
            striped.i.payload.block.eq(span.block * geometry.channels + span.channel),
            based.i.valid.eq(striped.o.valid),
            striped.o.ready.eq(based.i.ready),
            based.i.payload.block.eq(striped.o.payload.block + self.base[block_shift:]),
        ]
        for name, _ in _fields(geometry):
            if name != "block":
                m.d.comb += [
                    striped.i.payload[name].eq(span[name]),
                    based.i.payload[name].eq(striped.o.payload[name]),
                ]
        o: Any = self.o
        if self._skid:
            m.submodules.skid = skid = SkidBuffer(
                self.o.payload.shape(), output_register=False, clearable=True
            )
            m.d.comb += skid.clear.eq(self.clear)
            wiring.connect(m, skid.o, wiring.flipped(self.o))
            o = skid.i
        self._cut(m, based, o)
        return m

    def _cut(self, m: Module, source: OutputRegister, o: Any) -> None:
        """Sends the bursts of a span to ``o``."""
        geometry = self._geometry
        span, burst = source.o.payload, o.payload
        index_bits = geometry.block_beat_bits
        active = Signal()
        place = Signal(len(span.block), reset_less=True)
        left = Signal(BEATS_BITS, reset_less=True)
        channel = Signal(len(span.channel), reset_less=True)
        beat = Signal(max(1, index_bits), reset_less=True)
        room = Signal(range(geometry.block_beats + 1))
        # `ends`: `left` is at most `room`. It is registered together with both, because
        # `source.o.ready` depends on it.
        ends = Signal(reset_less=True)
        most = geometry.block_beats
        m.d.comb += [
            room.eq(most - (beat if index_bits else 0)),
            o.valid.eq(active),
            burst.address.eq(Cat(Const(0, geometry.beat_shift), beat[:index_bits], place)),
            burst.length.eq(Mux(ends, left, room) - 1),
            burst.channel.eq(channel),
            source.o.ready.eq(~active | (o.ready & ends)),
        ]
        with m.If(source.o.ready):
            m.d.sync += [
                active.eq(source.o.valid),
                place.eq(span.block),
                left.eq(span.beats),
                ends.eq(span.beats <= most - (span.beat if index_bits else 0)),
                channel.eq(span.channel),
            ]
            if index_bits:
                m.d.sync += beat.eq(span.beat)
        with m.Elif(o.ready):
            m.d.sync += [
                place.eq(place + geometry.channels),
                left.eq(left - room),
                ends.eq(left <= room + most),
            ]
            if index_bits:
                m.d.sync += beat.eq(0)
            if self._flat:
                with m.If(self.consecutive):
                    m.d.sync += [place.eq(place + 1), channel.eq(channel + 1)]
                    with m.If(channel == geometry.channels - 1):
                        m.d.sync += channel.eq(0)
        with m.If(self.clear):
            m.d.sync += active.eq(0)


def _fields(geometry: ChannelGeometry) -> list[tuple[str, ShapeLike]]:
    return [(name, field.shape) for name, field in span_layout(geometry)]


class FlatSpans(wiring.Component):
    """Finds the channels of spans of an array at consecutive addresses.

    ``block`` of a span at ``i`` is counted over all channels, and its ``channel`` means nothing. No
    latency, or three cycles if the number of channels is no power of two. One span a cycle.

    Parameters
    ----------
    geometry: of the memory's channels

    Members
    -------
    i, o: see ``span_layout``
    enable: in; 0: spans pass as they are. Constant while there are spans
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, geometry: ChannelGeometry) -> None:
        self._geometry = geometry
        spans = stream.Signature(span_layout(geometry))
        super().__init__({"i": In(spans), "o": Out(spans), "enable": In(1), "clear": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry = self._geometry
        carried = span_layout(geometry)
        m.submodules.locate = locate = ChannelOfRow(BLOCK_BITS, geometry.channels, carried)
        found = locate.o.payload
        m.d.comb += [
            locate.clear.eq(self.clear),
            locate.i.valid.eq(self.i.valid),
            self.i.ready.eq(locate.i.ready),
            locate.i.payload.row.eq(self.i.payload.block),
            locate.i.payload.carried.eq(self.i.payload),
            self.o.valid.eq(locate.o.valid),
            locate.o.ready.eq(self.o.ready),
            self.o.payload.eq(found.carried),
        ]
        with m.If(self.enable):
            m.d.comb += [
                self.o.payload.channel.eq(found.channel),
                self.o.payload.block.eq(found.index),
            ]
        return m


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
