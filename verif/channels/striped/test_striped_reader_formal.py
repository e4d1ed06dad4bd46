"""The striped reader's order: lines have the requested bytes, whatever overtakes on the bus, for
every sequence of inputs of some cycles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.channels.striped_reader import StripedReader
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.stream.prover import never_broken

pytestmark = pytest.mark.long

READERS = {
    # channels, blocks of a line, cycles of the proof
    "two": (2, 2, 12),
    "one_of_two": (2, 1, 12),
}
BLOCK_BITS = 4
"""Bits of a requested address."""
BLOCKS_BITS = 2
"""Bits of a request's number of blocks."""
SLOTS = 2
_MOST = 4
"""Requests that wait for their last line; no more are offered."""


class WatchedReader(wiring.Component):
    """A reader of blocks of a beat, a bus that answers them in any order, and a plain queue of what
    was asked for. A block's data is its number, and whether it was bad.

    Parameters
    ----------
    channels, line_blocks: of the reader
    swapped: channel 0's answers go to the other slot than asked, which must be found

    Members
    -------
    offer, line, blocks: a request is offered unless another still is; ``blocks`` from 1 on
    take: whether the sink is ready
    stop: the reader drops everything
    asks: of each channel, whether ``ar`` is ready
    answers, slots: of each channel, whether a beat comes if a burst is open, and of which
    bad: of each channel, whether that beat's response is an error
    broken: a line has other blocks than those that follow, or one that was bad, or ends its request
        too early or too late; or is offered, changed, and was not taken; a burst has the ID of an
        open one, or is another channel's
    """

    def __init__(self, channels: int, line_blocks: int, *, swapped: bool = False) -> None:
        self._geometry = ChannelGeometry(
            channels=channels, interleave=64, data_bits=512, addr_bits=32
        )
        self._line_blocks, self._swapped = line_blocks, swapped
        super().__init__(
            {
                **dict.fromkeys(("offer", "take", "stop"), In(1)),
                "line": In(BLOCK_BITS),
                "blocks": In(BLOCKS_BITS),
                **dict.fromkeys(("asks", "answers", "slots", "bad"), In(channels)),
                "broken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = StripedReader(
            self._geometry, line_blocks=self._line_blocks, outstanding=SLOTS, requests=_MOST
        )
        asking = Signal()
        kept_block, kept_blocks = Signal(BLOCK_BITS), Signal(BLOCKS_BITS)
        block, blocks = Signal(BLOCK_BITS), Signal(BLOCKS_BITS)
        queued = Signal(range(_MOST + 1))
        aligned = self._line_blocks & -self._line_blocks
        m.d.comb += [
            block.eq(Mux(asking, kept_block, self.line & -aligned)),
            blocks.eq(Mux(asking, kept_blocks, self.blocks)),
            part.request.valid.eq(asking | (self.offer & (self.blocks != 0) & (queued != _MOST))),
            part.request.payload.address.eq(Cat(Const(0, 6), block)),
            # A byte of the last block is as good as all.
            part.request.payload.bytes.eq((blocks << 6) - 63),
            part.o.ready.eq(self.take),
            part.stop.eq(self.stop),
        ]
        m.d.sync += [
            asking.eq(part.request.valid & ~part.request.ready & ~self.stop),
            kept_block.eq(block),
            kept_blocks.eq(blocks),
        ]
        wrong = [self._answer(m, part, channel) for channel in range(self._geometry.channels)]
        wrong += self._compare(m, part, queued, block, blocks)
        m.d.comb += self.broken.eq(Cat(wrong).any())
        return m

    def _answer(self, m: Module, part: StripedReader, channel: int) -> Value:
        """The bus of a channel; returns whether a burst is wrong."""
        asked, beat = part.ar[channel], part.r[channel]
        bits = 32 - 6
        opened = [Signal(name=f"open_{channel}_{n}") for n in range(SLOTS)]
        blocks = [Signal(bits, name=f"block_{channel}_{n}") for n in range(SLOTS)]
        slot, bad = self.slots[channel], self.bad[channel]
        given = slot ^ 1 if self._swapped and channel == 0 else slot
        address = asked.payload.address
        m.d.comb += [
            asked.ready.eq(self.asks[channel]),
            beat.valid.eq(self.answers[channel] & Array(opened)[slot] & Array(opened)[given]),
            beat.payload.id.eq(given),
            beat.payload.last.eq(1),
            beat.payload.response.eq(Mux(bad, 2, 0)),
            beat.payload.data.eq(Cat(Array(blocks)[slot][: BLOCK_BITS + 1], bad)),
        ]
        comes = asked.valid & asked.ready
        for n in range(SLOTS):
            with m.If(beat.valid & (given == n)):
                m.d.sync += opened[n].eq(0)
            with m.If(comes & (asked.payload.id == n)):
                m.d.sync += [opened[n].eq(1), blocks[n].eq(address[6:])]
        mine = address[6 : 6 + BLOCK_BITS + 1] % self._geometry.channels == channel
        whole = (address[:6] == 0) & (asked.payload.length == 0)
        return comes & (Array(opened)[asked.payload.id] | ~mine | ~whole)

    def _compare(
        self, m: Module, part: StripedReader, queued: Signal, block: Value, blocks: Value
    ) -> list[Any]:
        """The queue of requests, the oldest in place 0; returns what may be wrong."""
        firsts = [Signal(BLOCK_BITS + 1, name=f"first_{n}") for n in range(_MOST)]
        lefts = [Signal(BLOCKS_BITS, name=f"left_{n}") for n in range(_MOST)]
        line = part.o.payload
        ends = Signal()
        m.d.comb += ends.eq(lefts[0] <= self._line_blocks)
        taken = part.o.valid & part.o.ready
        put = part.request.valid & part.request.ready
        popped = taken & ends
        m.d.sync += queued.eq(queued + put - popped)
        for n in range(_MOST):
            above = min(n + 1, _MOST - 1)
            m.d.sync += [
                firsts[n].eq(Mux(popped, firsts[above], firsts[n])),
                lefts[n].eq(Mux(popped, lefts[above], lefts[n])),
            ]
            with m.If(put & (queued - popped == n)):
                m.d.sync += [firsts[n].eq(block), lefts[n].eq(blocks)]
        with m.If(taken & ~ends):
            m.d.sync += [
                firsts[0].eq(firsts[0] + self._line_blocks),
                lefts[0].eq(lefts[0] - self._line_blocks),
            ]
        with m.If(self.stop):
            m.d.sync += queued.eq(0)
        other = [
            (lefts[0] > n)
            & (line.data[512 * n : 512 * n + BLOCK_BITS + 2] != (firsts[0] + n)[: BLOCK_BITS + 1])
            for n in range(self._line_blocks)
        ]
        offered, before = Signal(), Signal(len(line.as_value()))
        m.d.sync += [
            offered.eq(part.o.valid & ~part.o.ready & ~self.stop),
            before.eq(line.as_value()),
        ]
        changed = offered & ~self.stop & (~part.o.valid | (line.as_value() != before))
        wrong = (queued == 0) | Cat(other).any() | (line.last != ends)
        return [changed, part.o.valid & ~self.stop & wrong]


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_no_sequence_breaks_the_order(name: str, tmp_path: Path) -> None:
    channels, line_blocks, cycles = READERS[name]
    assert never_broken(WatchedReader(channels, line_blocks), tmp_path, cycles=cycles)


@pytest.mark.long
def test_a_wrong_order_is_found(tmp_path: Path) -> None:
    """The same check fails on a bus that gives a block to the wrong requester."""
    assert not never_broken(WatchedReader(2, 1, swapped=True), tmp_path)
