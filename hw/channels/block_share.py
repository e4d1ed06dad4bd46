"""What a channel has of a run of blocks."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.channels import ChannelGeometry
from ..stream.deep_queue import DeepQueue

__all__ = ["BlockShare", "run_layout"]


def run_layout(geometry: ChannelGeometry, bytes_bits: int) -> data.StructLayout:
    """Consecutive blocks of flat memory: how many ``blocks``, the first one's number ``block``, and
    the ``channel`` of that."""
    return data.StructLayout(
        {
            "block": geometry.addr_bits - geometry.block_shift,
            "blocks": bytes_bits - geometry.block_shift,
            "channel": geometry.channel_bits,
        }
    )


class BlockShare(wiring.Component):
    """Addresses of the blocks of runs that are in one channel: one of every ``channels`` blocks.

    Runs may wait here, so that a channel falls behind others without holding them up. A run a
    cycle, an address a cycle. Latency three cycles.

    Parameters
    ----------
    geometry: of the memory's channels
    bytes_bits: of the longest run
    queue: runs that may wait

    Members
    -------
    channel: in; which one; constant
    i: see :func:`run_layout`
    o: addresses
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, geometry: ChannelGeometry, bytes_bits: int, *, queue: int) -> None:
        self._geometry, self._bytes_bits, self._queue = geometry, bytes_bits, queue
        super().__init__(
            {
                "channel": In(geometry.channel_bits),
                "i": In(stream.Signature(run_layout(geometry, bytes_bits))),
                "o": Out(stream.Signature(geometry.addr_bits)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry, run = self._geometry, self.i.payload
        count = geometry.channels
        # The first of the channel's blocks, and how many of the run there are from that one on.
        share = data.StructLayout({"block": len(run.block), "blocks": len(run.blocks)})
        m.submodules.waiting = waiting = DeepQueue(share, self._queue)
        behind = Signal(range(count))
        # Of a power of two the difference is right as it is, modulo the number of channels.
        wraps = run.channel > self.channel if count & (count - 1) else Const(0)
        m.d.comb += [
            behind.eq(Mux(wraps, count, 0) + self.channel - run.channel),
            waiting.clear.eq(self.clear),
            waiting.i.valid.eq(self.i.valid & (run.blocks > behind)),
            self.i.ready.eq(waiting.i.ready | (run.blocks <= behind)),
            waiting.i.payload.block.eq(run.block + behind),
            waiting.i.payload.blocks.eq(run.blocks - behind),
        ]
        within = Signal()
        next_block = Signal(len(run.block), reset_less=True)
        next_blocks = Signal(len(run.blocks), reset_less=True)
        block = Signal(len(run.block))
        blocks = Signal(len(run.blocks))
        ends = Signal()
        m.d.comb += [
            block.eq(Mux(within, next_block, waiting.o.payload.block)),
            blocks.eq(Mux(within, next_blocks, waiting.o.payload.blocks)),
            ends.eq(blocks <= count),
            self.o.valid.eq(waiting.o.valid),
            self.o.payload.eq(Cat(Const(0, geometry.block_shift), block)),
            waiting.o.ready.eq(self.o.ready & ends),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [
                within.eq(~ends),
                next_block.eq(block + count),
                next_blocks.eq(blocks - count),
            ]
        with m.If(self.clear):
            m.d.sync += within.eq(0)
        return m
