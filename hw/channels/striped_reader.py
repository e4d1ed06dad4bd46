"""Reads contiguous bytes of striped memory, in lines of the blocks that all channels deliver at
once."""

from __future__ import annotations

from math import gcd
from typing import ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.block_reader import BlockReader
from ..axi.layouts import Supervision, address_layout, beat_layout, data_layout, supervise
from ..spec.channels import ChannelGeometry
from ..stream.fork_join import Fork
from ..stream.queue import DeepQueue
from ..stream.stream_registers import OutputRegister, SkidBuffer
from .channel_of_row import ChannelOfRow


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
    """Computes the addresses of the blocks of runs that are in one channel: one of every
    ``channels`` blocks.

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
        # For a power of two the difference wraps modulo the number of channels by itself.
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


BYTES_BITS = 48
"""Bits of the number of a request's bytes."""

_BEHIND = 8
"""Requests that a channel may lag behind another one."""


def bytes_layout(geometry: ChannelGeometry) -> data.StructLayout:
    """Request to read ``bytes`` bytes, at least one, from ``address`` on."""
    return data.StructLayout({"address": geometry.addr_bits, "bytes": BYTES_BITS})


class StripedReader(wiring.Component):
    """Reads runs of bytes, whole blocks of the interleaving, from all channels at once.

    A line is ``line_blocks`` blocks that follow each other, and so are in as many channels; a run
    begins with a line. Of a run's last line only the blocks that it needs are read, and of the
    others nothing is said. In each channel blocks may overtake each other; lines leave in order.
    A line a cycle and a request a cycle, if the channels deliver them.

    Parameters
    ----------
    geometry: of the memory's channels
    line_blocks: at most the channels
    outstanding: blocks that may be in flight, or wait for others, in each channel
    requests: that may be in flight
    id_bits: width of an ID; default: what these need

    Members
    -------
    request: see :func:`bytes_layout`; the address is a multiple of the largest power of two that
        divides a line
    o: ``data``, ``last`` of its request
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; with an error no line leaves that has
        bytes of the bad block, or any behind it
    """

    verilog_parameters: ClassVar = {"OUTSTANDING": "outstanding", "REQUESTS": "requests"}

    def __init__(
        self,
        geometry: ChannelGeometry,
        *,
        line_blocks: int,
        outstanding: int,
        requests: int = 64,
        id_bits: int | None = None,
    ) -> None:
        if not 1 <= line_blocks <= geometry.channels:
            raise ValueError(f"`line_blocks` must be in 1..{geometry.channels}, not {line_blocks}")
        self._id_bits = (outstanding - 1).bit_length() if id_bits is None else id_bits
        if outstanding < 2:
            raise ValueError(f"`outstanding` must be at least 2, not {outstanding}")
        if self._id_bits < (outstanding - 1).bit_length():
            least = (outstanding - 1).bit_length()
            raise ValueError(f"`id_bits` must be at least {least}, not {id_bits}")
        self._geometry, self._line_blocks = geometry, line_blocks
        self._outstanding, self._requests = outstanding, requests
        request = address_layout(geometry.addr_bits, self._id_bits)
        beat = beat_layout(geometry.data_bits, self._id_bits)
        line_bits = 8 * line_blocks * geometry.interleave
        super().__init__(
            {
                "request": In(stream.Signature(bytes_layout(geometry))),
                "o": Out(stream.Signature(data_layout(line_bits))),
                "ar": Out(stream.Signature(request)).array(geometry.channels),
                "r": In(stream.Signature(beat, always_ready=True)).array(geometry.channels),
                **Supervision(geometry.addr_bits).members,
            }
        )

    @property
    def line_blocks(self) -> int:
        return self._line_blocks

    @property
    def id_bits(self) -> int:
        """Width of an ID."""
        return self._id_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry = self._geometry
        run = run_layout(geometry, BYTES_BITS)
        channels = range(geometry.channels)
        m.submodules.fork = fork = Fork(run, geometry.channels + 1, eager=True)
        m.d.comb += fork.clear.eq(self.stop)
        pending = self._locate(m, fork.i)
        readers = []
        for channel in channels:
            reader = BlockReader(
                addr_bits=geometry.addr_bits,
                data_bits=geometry.data_bits,
                block_beats=geometry.block_beats,
                outstanding=self._outstanding,
                id_bits=self._id_bits,
            )
            m.submodules[f"reader_{channel}"] = reader
            readers.append(reader)
            share = BlockShare(geometry, BYTES_BITS, queue=_BEHIND)
            m.submodules[f"share_{channel}"] = share
            wiring.connect(m, fork.o[channel], share.i)
            wiring.connect(m, share.o, reader.request)
            wiring.connect(m, reader.ar, wiring.flipped(self.ar[channel]))
            wiring.connect(m, wiring.flipped(self.r[channel]), reader.r)
            m.d.comb += [share.channel.eq(channel), share.clear.eq(self.stop)]
        supervise(m, self, readers, busy=pending != 0)
        self._assemble(m, fork.o[geometry.channels], readers)
        return m

    def _locate(self, m: Module, runs: stream.Interface) -> Signal:
        """Requests to runs of blocks, with the channel of the first. Returns how many of them have
        not left to the end."""
        geometry = self._geometry
        shift = geometry.block_shift
        run, asked = runs.payload, self.request.payload
        block_bits = geometry.addr_bits - shift
        carried = data.StructLayout({"block": block_bits, "blocks": BYTES_BITS - shift})
        m.submodules.located = located = ChannelOfRow(block_bits, geometry.channels, carried)
        # The shares count from a run's channel: the requests are not to wait for that.
        m.submodules.first = first = SkidBuffer(run.shape(), clearable=True)
        most = self._requests
        pending = Signal(range(most + 1))
        left = Signal()
        block = asked.address[shift:]
        m.d.comb += [
            located.clear.eq(self.stop),
            first.clear.eq(self.stop),
            located.i.valid.eq(self.request.valid & (pending != most) & ~self.stop),
            self.request.ready.eq(located.i.ready & (pending != most) & ~self.stop),
            located.i.payload.row.eq(block),
            located.i.payload.carried.block.eq(block),
            located.i.payload.carried.blocks.eq((asked.bytes + (geometry.interleave - 1))[shift:]),
            first.i.valid.eq(located.o.valid),
            located.o.ready.eq(first.i.ready),
            first.i.payload.channel.eq(located.o.payload.channel),
            first.i.payload.block.eq(located.o.payload.carried.block),
            first.i.payload.blocks.eq(located.o.payload.carried.blocks),
            left.eq(self.o.valid & self.o.ready & self.o.payload.last),
        ]
        wiring.connect(m, first.o, runs)
        came = self.request.valid & self.request.ready
        m.d.sync += pending.eq(Mux(came == left, pending, Mux(came, pending + 1, pending - 1)))
        with m.If(self.stop):
            m.d.sync += pending.eq(0)
        return pending

    def _assemble(self, m: Module, runs: stream.Interface, readers: list[BlockReader]) -> None:
        """Lines, of the blocks at the channels' heads."""
        geometry = self._geometry
        count, blocks = geometry.channels, self._line_blocks
        m.submodules.waiting = waiting = DeepQueue(runs.payload.shape(), self._requests)
        m.submodules.sent = sent = OutputRegister(self.o.payload.shape(), clearable=True)
        wiring.connect(m, runs, waiting.i)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        run, within = waiting.o.payload, Signal()
        next_left = Signal(len(run.blocks), reset_less=True)
        next_channel = Signal(len(run.channel), reset_less=True)
        left = Signal(len(run.blocks))
        channel = Signal(len(run.channel))
        ends = Signal()
        takes = Signal()
        # Blocks of the line that are requested, and those that are present.
        wanted = Signal(blocks)
        here = Signal(blocks)
        m.d.comb += [
            left.eq(Mux(within, next_left, run.blocks)),
            channel.eq(Mux(within, next_channel, run.channel)),
            ends.eq(left <= blocks),
            wanted.eq(Cat(left > number for number in range(blocks))),
            waiting.clear.eq(self.stop),
            sent.clear.eq(self.stop),
            sent.i.valid.eq(waiting.o.valid & (here | ~wanted).all()),
            sent.i.payload.last.eq(ends),
            takes.eq(sent.i.valid & sent.i.ready),
            waiting.o.ready.eq(takes & ends),
        ]
        size = 8 * geometry.interleave
        with m.Switch(channel):
            # One case for each channel at which a line may begin.
            for start in range(0, count, gcd(count, blocks & -blocks)):
                with m.Case(start):
                    for number in range(blocks):
                        reader = readers[(start + number) % count]
                        part = sent.i.payload.data[number * size : (number + 1) * size]
                        m.d.comb += [
                            here[number].eq(reader.o.valid),
                            part.eq(reader.o.payload),
                            reader.o.ready.eq(takes & wanted[number]),
                        ]
                    with m.If(takes):
                        m.d.sync += next_channel.eq((start + blocks) % count)
        with m.If(takes):
            m.d.sync += [within.eq(~ends), next_left.eq(left - blocks)]
        with m.If(self.stop):
            m.d.sync += within.eq(0)
