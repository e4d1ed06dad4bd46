"""Reads words from whole blocks, and keeps the current block."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout
from ..spec.channels import ChannelGeometry

__all__ = ["HeldBlock"]


class HeldBlock(wiring.Component):
    """Brings the requested beat of a block to the front of a stream of whole blocks.

    The beats of a block are wanted in ascending order, some perhaps never, some several times; they
    are dropped one a cycle as far as they are not wanted. The beat itself is ``beats.payload``.

    Parameters
    ----------
    geometry: of the memory's channels

    Members
    -------
    beats: the blocks' beats, in order; ``last`` is that of a block
    want: in; the beat ``beat`` of a block is wanted: of the ``next`` block, or else of the one
        current (the next, too, if nothing of it was ever there)
    discard: in; the rest of the current block is not wanted any more
    here: out; the wanted beat is there
    take: in; the beat is used; only with ``here``
    done: in; with ``take``, the beat is not wanted again
    clear: in; no block is current any more
    """

    def __init__(self, geometry: ChannelGeometry) -> None:
        self._index_bits = geometry.block_beat_bits
        super().__init__(
            {
                "beats": In(stream.Signature(data_layout(geometry.data_bits))),
                "want": In(1),
                "next": In(1),
                "beat": In(max(1, self._index_bits)),
                "discard": In(1),
                "here": Out(1),
                "take": In(1),
                "done": In(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A part of a block has been seen, and the rest of it is still to come.
        opened = Signal()
        # It is the wanted block, of which nothing was taken yet.
        entered = Signal()
        index = Signal(max(1, self._index_bits))
        drop = Signal()
        reached = Signal()
        gone = Signal()
        m.d.comb += [
            drop.eq(opened & (self.discard | (self.want & self.next & ~entered))),
            reached.eq(index == self.beat),
            self.here.eq(self.beats.valid & self.want & ~drop & reached),
            self.beats.ready.eq(drop | (self.want & ~reached) | (self.take & self.done)),
            gone.eq(self.beats.valid & self.beats.ready),
        ]
        with m.If(self.clear | (gone & self.beats.payload.last)):
            m.d.sync += [opened.eq(0), entered.eq(0), index.eq(0)]
        with m.Elif(gone):
            m.d.sync += [opened.eq(1), entered.eq(~drop & ~self.take), index.eq(index + 1)]
        with m.Elif(self.take):
            m.d.sync += [opened.eq(1), entered.eq(0)]
        return m
