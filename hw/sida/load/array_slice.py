"""Some elements of an array in memory that follow each other."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import address_layout, beat_layout
from ...axi.supervision import Supervision
from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.deep_queue import DeepQueue
from ...stream.gearbox import entry_layout
from .array_entries import ArrayEntries

__all__ = ["ArraySlice", "slice_layout"]


def slice_layout(config: SidaConfig) -> data.StructLayout:
    """What is wanted of the array at ``address``: elements ``lower`` to ``upper - 1``, at least
    one."""
    return data.StructLayout(
        {"address": config.addr_bits, "lower": INDEX_BITS, "upper": INDEX_BITS}
    )


class ArraySlice(wiring.Component):
    """Reads a slice of an array in blocks of ``pes`` elements: element n at place ``n % pes``.

    A block or a line a cycle, whichever is larger, if the channels deliver it; what is in the
    first line before the slice's first block costs a cycle a block. Slices are read ahead: of as
    many as ``requests`` says, as far as blocks of memory have room.

    Parameters
    ----------
    config: of the accelerator
    element_bytes: of an element, a power of two
    outstanding: blocks of memory that may be under way in a channel
    requests: slices that may be read ahead of the one whose blocks leave, at least 2

    Members
    -------
    request: see :func:`slice_layout`; the address is a multiple of a line
    o: ``data``, ``last`` of its request; elements outside the slice mean nothing
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle`` tells of the bus alone
    """

    def __init__(
        self, config: SidaConfig, element_bytes: int, *, outstanding: int, requests: int
    ) -> None:
        self._config, self._element_bytes, self._outstanding = config, element_bytes, outstanding
        self._requests = requests
        self._block_bytes = config.pes * element_bytes
        id_bits = (config.outstanding - 1).bit_length()
        request = address_layout(config.addr_bits, id_bits)
        super().__init__(
            {
                "request": In(stream.Signature(slice_layout(config))),
                "o": Out(stream.Signature(entry_layout((self._block_bytes,)))),
                "ar": Out(stream.Signature(request)).array(config.channels),
                "r": In(
                    stream.Signature(beat_layout(config.data_bits, id_bits), always_ready=True)
                ).array(config.channels),
                **Supervision(config.addr_bits).members,
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    @property
    def element_bytes(self) -> int:
        return self._element_bytes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.entries = entries = ArrayEntries(
            config,
            self._block_bytes,
            outstanding=self._outstanding,
            requests=self._requests,
        )
        for mine, its in zip(self.ar, entries.ar, strict=True):
            wiring.connect(m, its, wiring.flipped(mine))
        for mine, its in zip(self.r, entries.r, strict=True):
            wiring.connect(m, wiring.flipped(mine), its)
        m.d.comb += [
            entries.stop.eq(self.stop),
            *(getattr(self, name).eq(getattr(entries, name)) for name in ("idle", "error")),
            self.error_address.eq(entries.error_address),
        ]
        skipped = self._request(m, entries.request.payload)
        if skipped is None:
            wiring.connect(m, entries.o, wiring.flipped(self.o))
            m.d.comb += [
                entries.request.valid.eq(self.request.valid),
                self.request.ready.eq(entries.request.ready),
            ]
        else:
            self._skip(m, entries, skipped)
        return m

    def _skip(self, m: Module, entries: ArrayEntries, skipped: Signal) -> None:
        """Without the blocks of a first line that are not of the slice."""
        m.submodules.skips = skips = DeepQueue(skipped.shape(), self._requests)
        gone = Signal.like(skipped)
        drops = Signal()
        ends = Signal()
        m.d.comb += [
            entries.request.valid.eq(self.request.valid & skips.i.ready),
            self.request.ready.eq(entries.request.ready & skips.i.ready),
            skips.i.valid.eq(self.request.valid & entries.request.ready),
            skips.i.payload.eq(skipped),
            skips.o.ready.eq(ends),
            skips.clear.eq(self.stop),
            drops.eq(gone != skips.o.payload),
            self.o.valid.eq(entries.o.valid & skips.o.valid & ~drops),
            self.o.payload.eq(entries.o.payload),
            entries.o.ready.eq(skips.o.valid & (self.o.ready | drops)),
            ends.eq(self.o.valid & self.o.ready & self.o.payload.last),
        ]
        with m.If(self.stop | ends):
            m.d.sync += gone.eq(0)
        with m.Elif(entries.o.valid & skips.o.valid & drops):
            m.d.sync += gone.eq(gone + 1)

    def _request(self, m: Module, asked: data.View) -> Signal | None:
        """What is read, from the beginning of a line; blocks of it before the slice."""
        pes, line, wanted = self._config.pes, self._config.line_bytes, self.request.payload
        blocks = max(1, line // self._block_bytes)
        first = wanted.lower[pes.bit_length() - 1 :]
        whole = first[blocks.bit_length() - 1 :]
        before = whole.shift_left((blocks * self._block_bytes).bit_length() - 1)
        behind = Signal(INDEX_BITS + 1)
        m.d.comb += [
            asked.address.eq(wanted.address + before),
            asked.bytes.eq(wanted.upper * self._element_bytes - before),
            behind.eq(wanted.upper + (pes - 1)),
            asked.count.eq(behind[pes.bit_length() - 1 :] - whole.shift_left(_shift(blocks))),
        ]
        if blocks == 1:
            return None
        skipped = Signal(_shift(blocks))
        m.d.comb += skipped.eq(first[: _shift(blocks)])
        return skipped


def _shift(count: int) -> int:
    return count.bit_length() - 1
