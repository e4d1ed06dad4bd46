"""Several readers as one: their requests in turn, each beat to the reader that it is for."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..stream.round_robin import RoundRobin
from .layouts import beat_layout, routed_layout

__all__ = ["ReaderMux"]


class ReaderMux(wiring.Component):
    """Lets readers take turns at AR and adds a reader's number to its IDs, in the high bits.

    Latency: AR one cycle, R none. One transfer a cycle. A beat for a reader that does not exist
    is dropped.

    Parameters
    ----------
    readers: number of readers, at least 2
    addr_bits, data_bits, channel_bits: widths of the bus
    slot_bits: width of a reader's IDs

    Members
    -------
    reader_ar, reader_r: the readers' sides (arrays)
    ar, r: all of them
    """

    def __init__(
        self, readers: int, *, addr_bits: int, data_bits: int, channel_bits: int, slot_bits: int
    ) -> None:
        if readers < 2:
            raise ValueError(f"`readers` must be at least 2, not {readers}")
        self._readers, self._slot_bits = readers, slot_bits
        self._id_bits = slot_bits + (readers - 1).bit_length()
        self._inner = routed_layout(addr_bits, channel_bits, slot_bits)
        outer = routed_layout(addr_bits, channel_bits, self._id_bits)
        super().__init__(
            {
                "reader_ar": In(stream.Signature(self._inner)).array(readers),
                "reader_r": Out(stream.Signature(beat_layout(data_bits, slot_bits))).array(readers),
                "ar": Out(stream.Signature(outer)),
                "r": In(stream.Signature(beat_layout(data_bits, self._id_bits))),
            }
        )

    @property
    def id_bits(self) -> int:
        """Width of an ID of all of them."""
        return self._id_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(self._inner, self._readers)
        chosen, beat = arbiter.o.payload, self.r.payload
        m.d.comb += [
            self.ar.valid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(self.ar.ready),
            self.ar.payload.address.eq(chosen.payload.address),
            self.ar.payload.length.eq(chosen.payload.length),
            self.ar.payload.channel.eq(chosen.payload.channel),
            self.ar.payload.id.eq(Cat(chosen.payload.id, chosen.source)),
            self.r.ready.eq(1),
        ]
        for index in range(self._readers):
            wiring.connect(m, arbiter.i[index], wiring.flipped(self.reader_ar[index]))
            reader = self.reader_r[index]
            mine = beat.id[self._slot_bits :] == index
            m.d.comb += [
                reader.valid.eq(self.r.valid & mine),
                reader.payload.data.eq(beat.data),
                reader.payload.response.eq(beat.response),
                reader.payload.last.eq(beat.last),
                reader.payload.id.eq(beat.id[: self._slot_bits]),
            ]
            with m.If(mine):
                m.d.comb += self.r.ready.eq(reader.ready)
        return m
