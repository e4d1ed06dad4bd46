"""Frames on a stream of bytes: delimited, checked, at most so long (``hw/spec/bridge.py``)."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.crc.catalog import CRC32_ETHERNET
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..spec.bridge import (
    CHECK_BYTES,
    END,
    ESCAPE,
    ESCAPED_END,
    ESCAPED_ESCAPE,
    HEADER_BYTES,
)

__all__ = ["FrameReceiver", "FrameSender", "header_layout"]


def header_layout() -> data.StructLayout:
    """The first bytes of a request: ``command``, ``sequence``, ``address``, ``count``."""
    return data.StructLayout({"command": 8, "sequence": 8, "address": 32, "count": 16})


class Crc32(wiring.Component):
    """The CRC-32 of Ethernet over bytes, one a cycle.

    Members
    -------
    start: in; what comes, with it or later, is another message
    valid, data: in; a byte
    check: out; of the bytes so far
    fits: out; the last four of them are the check of those before
    """

    def __init__(self) -> None:
        ins, outs = {"start": In(1), "valid": In(1), "data": In(8)}, {"check": Out(32)}
        super().__init__({**ins, **outs, "fits": Out(1)})

    def elaborate(self, platform: object) -> Module:
        # The library's part is no component with a signature.
        processor = CRC32_ETHERNET(data_width=8).create()
        processor._MustUse__silence = True
        m: Module = processor.elaborate(platform)
        m.d.comb += [
            processor.start.eq(self.start),
            processor.valid.eq(self.valid),
            processor.data.eq(self.data),
            self.check.eq(processor.crc),
            self.fits.eq(processor.match_detected),
        ]
        return m


class FrameReceiver(wiring.Component):
    """Collects a frame, checks it, and keeps it until it has been dealt with.

    A frame that is too short or too long, or whose check is wrong, is dropped; so is every byte
    that comes while a frame is kept. The next frame begins behind the next ``END``.

    Parameters
    ----------
    most_data: bytes of data in a frame at most

    Members
    -------
    i: stream of bytes, one a cycle
    arrived: out; a frame is kept
    header: out; with ``arrived``: see :func:`header_layout`
    length: out; with ``arrived``: bytes of its data
    place, value: in, out; the byte of its data at a place, a cycle later
    done: in, a pulse, with ``arrived``: the frame has been dealt with
    """

    def __init__(self, most_data: int) -> None:
        self._most_data = most_data
        super().__init__(
            {
                "i": In(stream.Signature(8, always_ready=True)),
                "arrived": Out(1),
                "header": Out(header_layout()),
                "length": Out(range(most_data + 1)),
                "place": In(range(most_data)),
                "value": Out(8),
                "done": In(1),
            }
        )

    @property
    def most_data(self) -> int:
        return self._most_data

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = HEADER_BYTES + self._most_data + CHECK_BYTES
        m.submodules.crc = crc = Crc32()
        m.submodules.data = memory = Memory(
            shape=8, depth=1 << (self._most_data + CHECK_BYTES - 1).bit_length(), init=[]
        )
        write, read = memory.write_port(), memory.read_port()
        header = Signal(header_layout(), reset_less=True)
        count = Signal(range(most + 2))
        escaped = Signal()
        # Whether the rest of a frame is skipped, up to its END: also from a reset on.
        skips = Signal(init=1)
        arrived = Signal()
        byte = Signal(8)
        ends = Signal()
        takes = Signal()
        m.d.comb += [
            byte.eq(self.i.payload),
            ends.eq(self.i.valid & (self.i.payload == END)),
            takes.eq(self.i.valid & ~ends & (self.i.payload != ESCAPE) & ~arrived & ~skips),
            crc.valid.eq(takes),
            crc.data.eq(byte),
            crc.start.eq(ends),
            write.en.eq(takes),
            write.addr.eq(count - HEADER_BYTES),
            write.data.eq(byte),
            read.addr.eq(self.place),
            read.en.eq(1),
            self.value.eq(read.data),
            self.arrived.eq(arrived),
            self.header.eq(header),
            self.length.eq(count - (HEADER_BYTES + CHECK_BYTES)),
        ]
        with m.If(escaped & (self.i.payload == ESCAPED_END)):
            m.d.comb += byte.eq(END)
        with m.If(escaped & (self.i.payload == ESCAPED_ESCAPE)):
            m.d.comb += byte.eq(ESCAPE)
        with m.If(self.i.valid):
            m.d.sync += escaped.eq(self.i.payload == ESCAPE)
        with m.If(takes):
            m.d.sync += count.eq(count + 1)
            with m.If(count < HEADER_BYTES):
                m.d.sync += header.eq(Cat(header.as_value()[8:], byte))
            with m.If(count == most):
                m.d.sync += skips.eq(1)
        with m.If(ends & ~arrived):
            m.d.sync += [skips.eq(0), count.eq(0)]
            with m.If(~skips & (count >= HEADER_BYTES + CHECK_BYTES) & crc.fits):
                m.d.sync += [arrived.eq(1), count.eq(count)]
        with m.If(self.done):
            # What has come meanwhile was dropped.
            m.d.sync += [arrived.eq(0), count.eq(0), skips.eq(1)]
        return m


class FrameSender(wiring.Component):
    """Sends frames: ``END``, the bytes, their check, ``END``.

    Members
    -------
    i: stream of ``value`` and ``last`` of its frame
    o: stream of bytes
    """

    def __init__(self) -> None:
        layout = data.StructLayout({"value": 8, "last": 1})
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = Crc32()
        check_place = Signal(range(CHECK_BYTES))
        checking = Signal()
        second = Signal()
        byte = Signal(8)
        special = Signal()
        coding = Signal()
        sent = Signal()
        m.d.comb += [
            byte.eq(Mux(checking, crc.check.word_select(check_place, 8), self.i.payload.value)),
            special.eq((byte == END) | (byte == ESCAPE)),
            crc.data.eq(self.i.payload.value),
            crc.valid.eq(self.i.valid & self.i.ready),
        ]
        escape_code = Mux(byte == END, Const(ESCAPED_END, 8), Const(ESCAPED_ESCAPE, 8))
        coded = Mux(special, Mux(second, escape_code, Const(ESCAPE, 8)), byte)
        with m.FSM(name="part"):
            with m.State("begin"):
                m.d.comb += [
                    crc.start.eq(1),
                    self.o.valid.eq(self.i.valid),
                    self.o.payload.eq(END),
                ]
                with m.If(self.o.valid & self.o.ready):
                    m.next = "bytes"
            with m.State("bytes"):
                m.d.comb += [
                    coding.eq(1),
                    self.o.valid.eq(self.i.valid),
                    self.o.payload.eq(coded),
                    sent.eq(self.o.valid & self.o.ready & (~special | second)),
                    self.i.ready.eq(self.o.ready & (~special | second)),
                ]
                with m.If(sent & self.i.payload.last):
                    m.next = "check"
            with m.State("check"):
                m.d.comb += [
                    coding.eq(1),
                    checking.eq(1),
                    self.o.valid.eq(1),
                    self.o.payload.eq(coded),
                    sent.eq(self.o.ready & (~special | second)),
                ]
                with m.If(sent):
                    m.d.sync += check_place.eq(check_place + 1)
                    with m.If(check_place == CHECK_BYTES - 1):
                        m.next = "end"
            with m.State("end"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(END)]
                with m.If(self.o.ready):
                    m.next = "begin"
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += second.eq(coding & special & ~second)
        return m
