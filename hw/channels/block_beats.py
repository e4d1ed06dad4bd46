"""Blocks of the interleaving, beat by beat to what writes one channel."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import store_layout
from ..spec.channels import ChannelGeometry
from .beat_packer import write_request_layout

__all__ = ["BlockBeats", "block_layout"]


def block_layout(geometry: ChannelGeometry) -> data.StructLayout:
    """What is to be written of a block, from its beginning on: the ``block`` of flat memory, the
    ``data``, the number of ``bytes`` less one."""
    fields: dict[str, ShapeLike] = {
        "block": geometry.addr_bits - geometry.block_shift,
        "data": 8 * geometry.interleave,
        "bytes": range(geometry.interleave),
    }
    return data.StructLayout(fields)


class BlockBeats(wiring.Component):
    """Asks for the writing of blocks, and sends their beats; strobes name the bytes.

    A beat a cycle, over the ends of blocks too. No latency.

    Parameters
    ----------
    geometry: of the memory's channels

    Members
    -------
    i: see :func:`block_layout`
    request, o: streams to a burst writer, a request a block
    clear: in; forgets at the end of the cycle what of the block at ``i`` was taken
    """

    def __init__(self, geometry: ChannelGeometry) -> None:
        self._geometry = geometry
        super().__init__(
            {
                "i": In(stream.Signature(block_layout(geometry))),
                "request": Out(stream.Signature(write_request_layout(geometry))),
                "o": Out(stream.Signature(store_layout(geometry.data_bits))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry, block = self._geometry, self.i.payload
        index = Signal(max(1, geometry.block_beat_bits))
        # What of the block at hand has been taken: its request, and all its beats.
        asked = Signal()
        sent = Signal()
        ends = Signal()
        asks = Signal()
        sends = Signal()
        last = block.bytes[geometry.beat_shift :]
        m.d.comb += [
            self.request.valid.eq(self.i.valid & ~asked),
            self.request.payload.address.eq(Cat(Const(0, geometry.block_shift), block.block)),
            self.request.payload.beats.eq(last + 1),
            self.o.valid.eq(self.i.valid & ~sent),
            self.o.payload.data.eq(block.data.word_select(index, geometry.data_bits)),
            self.o.payload.strobe.eq(self._strobe(m, ends)),
            ends.eq(index == last),
            asks.eq(asked | self.request.ready),
            sends.eq(sent | (self.o.ready & ends)),
            self.i.ready.eq(asks & sends),
        ]
        with m.If(self.clear | (self.i.valid & self.i.ready)):
            m.d.sync += [index.eq(0), asked.eq(0), sent.eq(0)]
        with m.Elif(self.i.valid):
            m.d.sync += [asked.eq(asks), sent.eq(sends)]
            with m.If(self.o.ready & ~sends):
                m.d.sync += index.eq(index + 1)
        return m

    def _strobe(self, m: Module, ends: Value) -> Value:
        """All bytes of a beat, or those of the last one that count."""
        geometry = self._geometry
        last = Signal(geometry.beat_bytes, name="last_strobe")
        bytes_ = self.i.payload.bytes[: geometry.beat_shift]
        # The first byte is always there.
        later = (Const(n, len(bytes_)) <= bytes_ for n in range(1, len(last)))
        m.d.comb += last.eq(Cat(Const(1, 1), *later))
        return Mux(ends, last, Const(-1, geometry.beat_bytes))
