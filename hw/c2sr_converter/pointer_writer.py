"""Writes the row pointers of a matrix in CSR."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import store_layout
from ..channels.beat_packer import BeatPacker, write_request_layout
from ..channels.word_placer import WordPlacer
from ..spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig

__all__ = ["PointerWriter", "numbered_pointer_layout"]


def numbered_pointer_layout() -> data.StructLayout:
    """A row pointer and its ``number``."""
    return data.StructLayout({"pointer": 8 * POINTER_BYTES, "number": 32})


class PointerWriter(wiring.Component):
    """Packs pointers 0, 1, 2, ... into beats and deals their blocks out to the channels.

    A pointer a cycle. A channel's request goes together with its last beat.

    Members
    -------
    base: in; address of the first pointer; constant from ``start`` on
    start: in, a pulse when ``empty``
    i: see :func:`numbered_pointer_layout`
    flush: in, level: no more pointers come, what is inside goes
    request, data: arrays of streams to burst writers, one a channel
    empty: out; nothing is inside
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        request = stream.Signature(write_request_layout(config.geometry))
        beat = stream.Signature(store_layout(config.data_bits))
        super().__init__(
            {
                "base": In(config.addr_bits),
                "start": In(1),
                "i": In(stream.Signature(numbered_pointer_layout())),
                "flush": In(1),
                "request": Out(request).array(config.channels),
                "data": Out(beat).array(config.channels),
                "empty": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # As an array in a single channel.
        flat = replace(self._config.geometry, channels=1)
        m.submodules.place = place = WordPlacer(flat, word_bytes=POINTER_BYTES, step=1)
        m.submodules.packer = packer = BeatPacker(flat, word_bytes=POINTER_BYTES)
        wiring.connect(m, place.o, packer.i)
        m.d.comb += [
            place.base.eq(self.base),
            place.clear.eq(self.clear),
            place.i.valid.eq(self.i.valid),
            self.i.ready.eq(place.i.ready),
            place.i.payload.word.eq(self.i.payload.pointer),
            place.i.payload.number.eq(self.i.payload.number),
            packer.flush.eq(self.flush & place.empty),
            packer.clear.eq(self.clear),
            self.empty.eq(place.empty & packer.empty),
        ]
        self._deal(m, packer)
        return m

    def _deal(self, m: Module, packer: BeatPacker) -> None:
        """A request is of one block; the next one is of the next channel."""
        channel = Signal(self._config.layout.channel_bits)
        request, beat = packer.request, packer.o
        request_ready = Signal()
        beat_ready = Signal()
        m.d.comb += [
            request_ready.eq(Array(each.ready for each in self.request)[channel]),
            beat_ready.eq(Array(each.ready for each in self.data)[channel]),
            request.ready.eq(request_ready & (beat_ready | ~beat.valid)),
            beat.ready.eq(beat_ready & (request_ready | ~request.valid)),
        ]
        for number, (asked, sent) in enumerate(zip(self.request, self.data, strict=True)):
            mine = channel == number
            m.d.comb += [
                asked.payload.eq(request.payload),
                asked.valid.eq(request.valid & mine & (beat_ready | ~beat.valid)),
                sent.payload.eq(beat.payload),
                sent.valid.eq(beat.valid & mine & (request_ready | ~request.valid)),
            ]
        with m.If(request.valid & request.ready):
            m.d.sync += channel.eq(channel + 1)
            with m.If(channel == self._config.channels - 1):
                m.d.sync += channel.eq(0)
        with m.If(self.start):
            m.d.sync += channel.eq(0)
