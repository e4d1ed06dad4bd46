"""Consecutive bytes to memory, several channels at once."""

from __future__ import annotations

from math import gcd

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.burst_writer import BurstWriter
from ..axi.layouts import (
    Supervision,
    address_layout,
    response_layout,
    store_layout,
    supervise,
    write_layout,
)
from ..spec.channels import ChannelGeometry
from ..stream.ring import moved_count
from ..stream.stream_registers import OutputRegister, SkidBuffer
from .beat_packer import count_bits, write_request_layout
from .channel_of_row import ChannelOfRow


def block_layout(geometry: ChannelGeometry) -> data.StructLayout:
    """Data of a block to write, from the block's beginning on: the ``block`` of flat memory, the
    ``data``, the number of ``bytes`` less one."""
    fields: dict[str, ShapeLike] = {
        "block": geometry.addr_bits - geometry.block_shift,
        "data": 8 * geometry.interleave,
        "bytes": range(geometry.interleave),
    }
    return data.StructLayout(fields)


class BlockBeats(wiring.Component):
    """Requests the writing of blocks, and sends their beats; strobes mark the bytes.

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
        # Parts of the current block that are sent: its request, and all its beats.
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


_BUFFER_BLOCKS = 4


def extent_layout(geometry: ChannelGeometry, bytes_bits: int) -> data.StructLayout:
    """Consecutive bytes: ``address`` of the first, a multiple of a line; ``bytes``, at least 1."""
    return data.StructLayout({"address": geometry.addr_bits, "bytes": bytes_bits})


class StripedWriter(wiring.Component):
    """Writes the requested bytes, one line per cycle if the channels accept it.

    A line is so many blocks of consecutive channels. It is taken when all channels that it is for
    have room; a few lines fit between them and the bus. Blocks are written as one burst each, the
    last one as far as there are bytes, by strobes. Requests follow each other without a pause
    where the number of channels is a power of two; else one may begin every four cycles, or as many
    in four cycles as ``requests``.

    After a response other than OKAY and EXOKAY ``error`` stays until ``stop``.

    Parameters
    ----------
    geometry: of the memory's channels
    line_blocks: blocks of a line, at most as many as channels
    bytes_bits: width of a request's number of bytes
    outstanding: bursts of a channel in flight at a time
    requests: that may wait for their channel to be known, where it takes time
    blocks: that may wait before each channel, 1 or 2; two, so that runs of a few lines follow each
        other without a pause, whichever channels they begin in

    Members
    -------
    request: see :func:`extent_layout`
    i: lines of all requests, one after the other; of a request's last line the first bytes count
    wrote: out; of each channel, whether it gets a block of the line that is accepted in this cycle
    aw, w, b: of each channel (arrays)
    stop, idle, error, error_address: see :class:`Supervision`; ``stop`` drops what has not begun
    """

    def __init__(
        self,
        geometry: ChannelGeometry,
        *,
        line_blocks: int,
        bytes_bits: int,
        outstanding: int,
        requests: int = 1,
        blocks: int = 1,
    ) -> None:
        if not 1 <= line_blocks <= geometry.channels:
            allowed = f"1..{geometry.channels}"
            raise ValueError(f"`line_blocks` must be in {allowed}, not {line_blocks}")
        self._geometry, self._line_blocks = geometry, line_blocks
        self._outstanding, self._requests, self._waiting = outstanding, requests, blocks
        self._extent = extent_layout(geometry, bytes_bits)
        addr_bits, data_bits = geometry.addr_bits, geometry.data_bits
        channels = geometry.channels
        super().__init__(
            {
                "request": In(stream.Signature(self._extent)),
                "i": In(stream.Signature(8 * geometry.interleave * line_blocks)),
                "wrote": Out(channels),
                "aw": Out(stream.Signature(address_layout(addr_bits))).array(channels),
                "w": Out(stream.Signature(write_layout(data_bits))).array(channels),
                "b": In(stream.Signature(response_layout())).array(channels),
                **Supervision(addr_bits).members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry = self._geometry
        place_bits = geometry.addr_bits - geometry.block_shift
        active = Signal()
        # Place of the next line, and the number of remaining bytes, less one.
        channel = Signal(geometry.channel_bits, reset_less=True)
        block = Signal(place_bits, reset_less=True)
        left = Signal(len(self.request.payload.bytes), reset_less=True)
        step = Signal()
        ends = Signal()
        located, busy = self._locate(m, take=~active | (step & ends))
        line_bytes = self._line_blocks * geometry.interleave
        free = Signal()
        m.d.comb += [
            ends.eq(left < line_bytes),
            step.eq(active & self.i.valid & free),
            self.i.ready.eq(active & free),
        ]
        with m.If(step):
            following = channel + self._line_blocks
            if geometry.channels & (geometry.channels - 1):
                wraps = following >= geometry.channels
                following = Mux(wraps, following - geometry.channels, following)
            elif geometry.channels == 1:
                following = Const(0)
            m.d.sync += [
                channel.eq(following),
                block.eq(block + self._line_blocks),
                left.eq(left - line_bytes),
            ]
        with m.If(located.ready):
            m.d.sync += [
                active.eq(located.valid),
                channel.eq(located.payload.channel),
                block.eq(located.payload.carried.block),
                left.eq(located.payload.carried.bytes),
            ]
        with m.If(self.stop):
            m.d.sync += active.eq(0)
        blocks = self._blocks(m, channel, block, left, step, free)
        writers = [self._write(m, number, source) for number, source in enumerate(blocks)]
        waiting = Cat(source.o.valid for source in blocks).any()
        supervise(m, self, writers, busy=active | busy | waiting)
        return m

    def _locate(self, m: Module, take: Value) -> tuple[stream.Interface, Value]:
        """Requests with the channel of their first block; and whether any is inside."""
        geometry, request = self._geometry, self.request.payload
        place_bits = geometry.addr_bits - geometry.block_shift
        carried = data.StructLayout({"block": place_bits, "bytes": len(request.bytes)})
        m.submodules.locate = locate = ChannelOfRow(place_bits, geometry.channels, carried)
        inside = Signal(range(self._requests + 1))
        free = inside != self._requests
        place = request.address[geometry.block_shift :]
        m.d.comb += [
            locate.clear.eq(self.stop),
            locate.i.valid.eq(self.request.valid & free & ~self.stop),
            self.request.ready.eq(locate.i.ready & free & ~self.stop),
            locate.i.payload.row.eq(place),
            locate.i.payload.carried.block.eq(place),
            locate.i.payload.carried.bytes.eq(request.bytes - 1),
            locate.o.ready.eq(take),
        ]
        comes = self.request.valid & self.request.ready
        goes = locate.o.valid & locate.o.ready
        with m.If(self.stop):
            m.d.sync += inside.eq(0)
        with m.Else():
            m.d.sync += inside.eq(moved_count(inside, comes, goes))
        return locate.o, inside != 0

    def _blocks(
        self, m: Module, channel: Value, block: Value, left: Value, step: Value, free: Value
    ) -> list[OutputRegister | SkidBuffer]:
        """A line's blocks, each before its channel; ``free``: there is room before all of them."""
        geometry, count = self._geometry, self._line_blocks
        layout = block_layout(geometry)
        registers: list[OutputRegister | SkidBuffer] = []
        kind = OutputRegister if self._waiting == 1 else SkidBuffer
        for number in range(geometry.channels):
            register = kind(layout, clearable=True)
            m.submodules[f"block_{number}"] = register
            m.d.comb += register.clear.eq(self.stop)
            registers.append(register)
        wanted = Signal(geometry.channels)
        parts = Signal(data.ArrayLayout(layout, count))
        here = Signal(count, name="blocks_here")
        for index, part in enumerate(parts):
            behind = left - index * geometry.interleave if index else left
            m.d.comb += [
                here[index].eq(left >= index * geometry.interleave if index else 1),
                part.block.eq(block + index if index else block),
                part.data.eq(self.i.payload.word_select(index, 8 * geometry.interleave)),
                part.bytes.eq(Mux(behind < geometry.interleave, behind, geometry.interleave - 1)),
            ]
        # Lines begin in channels a line apart.
        with m.Switch(channel):
            for first in range(0, geometry.channels, gcd(count, geometry.channels)):
                with m.Case(first):
                    for index in range(count):
                        number = (first + index) % geometry.channels
                        m.d.comb += [
                            wanted[number].eq(here[index]),
                            registers[number].i.payload.eq(parts[index]),
                        ]
        m.d.comb += free.eq((Cat(register.i.ready for register in registers) | ~wanted).all())
        for number, register in enumerate(registers):
            m.d.comb += [
                register.i.valid.eq(step & wanted[number]),
                self.wrote[number].eq(step & wanted[number]),
            ]
        return registers

    def _write(self, m: Module, number: int, source: OutputRegister | SkidBuffer) -> BurstWriter:
        """The writer of a channel."""
        geometry = self._geometry
        writer = BurstWriter(
            addr_bits=geometry.addr_bits,
            data_bits=geometry.data_bits,
            outstanding=self._outstanding,
            count_bits=count_bits(geometry),
            burst_beats=geometry.block_beats,
            buffer_beats=_BUFFER_BLOCKS * geometry.block_beats,
        )
        beats = BlockBeats(geometry)
        m.submodules[f"beats_{number}"] = beats
        m.submodules[f"writer_{number}"] = writer
        wiring.connect(m, source.o, beats.i)
        wiring.connect(m, beats.request, writer.request)
        wiring.connect(m, beats.o, writer.i)
        m.d.comb += beats.clear.eq(self.stop)
        for name in ("aw", "w", "b"):
            wiring.connect(m, getattr(writer, name), wiring.flipped(getattr(self, name)[number]))
        return writer
