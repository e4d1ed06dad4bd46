"""Bursts of several AXI4 managers, beat by beat, for a memory of one kind or another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import address_layout, beat_layout, response_layout, write_layout
from ..stream.multiplex import RoundRobin

__all__ = [
    "CHANNELS", "ReadBursts", "WriteBursts", "channels_of", "join_bursts", "read_place_layout",
    "tag_layout", "write_place_layout",
]  # fmt: skip

_OKAY, _DECERR = 0, 3

CHANNELS = ("ar", "r", "aw", "w", "b")
"""The channels of a manager."""


def channels_of(
    managers: int, *, addr_bits: int, data_bits: int, id_bits: int
) -> dict[str, wiring.Member]:
    """The members of a memory of several managers: an array of each channel."""
    address = stream.Signature(address_layout(addr_bits, id_bits))
    layouts = {
        "ar": In(address),
        "r": Out(stream.Signature(beat_layout(data_bits, id_bits))),
        "aw": In(address),
        "w": In(stream.Signature(write_layout(data_bits))),
        "b": Out(stream.Signature(response_layout(id_bits))),
    }
    return {name: member.array(managers) for name, member in layouts.items()}


def tag_layout(managers: int, id_bits: int) -> data.StructLayout:
    """Stays with a beat that is read: its ``source``, ``response``, ``last``, ``id``."""
    source = max(1, (managers - 1).bit_length())
    return data.StructLayout({"source": source, "response": 2, "last": 1, "id": id_bits})


def read_place_layout(beats: int, managers: int, id_bits: int) -> data.StructLayout:
    """A beat to read: ``place``, its number in a memory of so many, and its ``tag``."""
    return data.StructLayout({"place": range(beats), "tag": tag_layout(managers, id_bits)})


def write_place_layout(beats: int, data_bits: int) -> data.StructLayout:
    """A beat to write: ``place``, ``data``, ``strobe`` (no bit outside the memory), ``last``."""
    return data.StructLayout(
        {"place": range(beats), "data": data_bits, "strobe": data_bits // 8, "last": 1}
    )


class _Bursts(wiring.Component):
    """What both directions share: bursts taken round robin, one at a time.

    Parameters
    ----------
    managers: their number
    memory_bytes: of the memory, which begins at address 0
    addr_bits, data_bits, id_bits: widths of the bus
    """

    requests: ClassVar[str]
    name: ClassVar[str]

    def __init__(
        self,
        managers: int,
        memory_bytes: int,
        members: dict[str, wiring.Member],
        *,
        addr_bits: int,
        data_bits: int,
        id_bits: int,
    ) -> None:
        self._count, self._memory_bytes, self._data_bits = managers, memory_bytes, data_bits
        self._address = address_layout(addr_bits, id_bits)
        self._beats = memory_bytes * 8 // data_bits
        super().__init__(members)

    def _begin(self, m: Module) -> tuple[Any, Signal, Signal, Signal]:
        """The requests of all managers; of the burst at hand the source, the beat's place, and
        whether it lies outside."""
        sources = getattr(self, self.requests)
        m.submodules[f"{self.name}_arbiter"] = arbiter = RoundRobin(self._address, self._count)
        for i, stream_ in zip(arbiter.i, sources, strict=True):
            wiring.connect(m, wiring.flipped(stream_), i)
        width = (self._data_bits // 8).bit_length() - 1
        source = Signal.like(arbiter.o.payload.source, name=f"{self.name}_source")
        place = Signal(range(self._beats), name=f"{self.name}_place")
        outside = Signal(name=f"{self.name}_outside")
        address = arbiter.o.payload.payload.address
        with m.If(arbiter.o.valid & arbiter.o.ready):
            m.d.sync += [
                source.eq(arbiter.o.payload.source),
                place.eq(address[width:]),
                outside.eq(address >= self._memory_bytes),
            ]
        return arbiter.o, source, place, outside


class ReadBursts(_Bursts):
    """Splits read bursts of several managers into beats, and returns the beats that were read.

    One burst at a time, round robin; a beat a cycle, the first one two cycles behind AR. A burst
    is INCR, of whole beats, and does not cross 4 KiB. Outside the memory its beats have DECERR;
    they are read all the same, somewhere.

    Members
    -------
    ar, r: channels of each manager (arrays)
    o: stream of beats to read, see :func:`read_place_layout`
    i: stream of them with ``tag`` and ``data``, in the same order
    """

    requests, name = "ar", "read"

    def __init__(self, managers: int, memory_bytes: int, **widths: int) -> None:
        channels = channels_of(managers, **widths)
        beats = memory_bytes * 8 // widths["data_bits"]
        tag = tag_layout(managers, widths["id_bits"])
        read = data.StructLayout({"tag": tag, "data": widths["data_bits"]})
        members = {
            **{name: channels[name] for name in ("ar", "r")},
            "o": Out(stream.Signature(read_place_layout(beats, managers, widths["id_bits"]))),
            "i": In(stream.Signature(read)),
        }
        super().__init__(managers, memory_bytes, members, **widths)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, source, place, outside = self._begin(m)
        reading = Signal()
        left = Signal(8)
        identity = Signal.like(request.payload.payload.id, name="read_id")
        tag = self.o.payload.tag
        m.d.comb += [
            request.ready.eq(~reading),
            self.o.valid.eq(reading),
            self.o.payload.place.eq(place),
            tag.source.eq(source),
            tag.response.eq(Mux(outside, _DECERR, _OKAY)),
            tag.last.eq(left == 0),
            tag.id.eq(identity),
        ]
        with m.If(request.valid & ~reading):
            m.d.sync += [
                reading.eq(1),
                left.eq(request.payload.payload.length),
                identity.eq(request.payload.payload.id),
            ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [place.eq(place + 1), left.eq(left - 1)]
            with m.If(left == 0):
                m.d.sync += reading.eq(0)
        found = self.i.payload
        m.d.comb += self.i.ready.eq(Array(r.ready for r in self.r)[found.tag.source])
        for number, r in enumerate(self.r):
            m.d.comb += [
                r.valid.eq(self.i.valid & (found.tag.source == number)),
                r.payload.data.eq(found.data),
                r.payload.response.eq(found.tag.response),
                r.payload.last.eq(found.tag.last),
                r.payload.id.eq(found.tag.id),
            ]
        return m


class WriteBursts(_Bursts):
    """Splits write bursts of several managers into beats, and answers them.

    One burst at a time, round robin; a beat a cycle. A burst is answered when its last beat has
    been accepted: a read that is accepted later must find it. Outside the memory it is answered
    with DECERR, and its strobes are zero.

    Members
    -------
    aw, w, b: channels of each manager (arrays)
    o: stream of beats to write, see :func:`write_place_layout`
    """

    requests, name = "aw", "write"

    def __init__(self, managers: int, memory_bytes: int, **widths: int) -> None:
        channels = channels_of(managers, **widths)
        beats = memory_bytes * 8 // widths["data_bits"]
        members = {
            **{name: channels[name] for name in ("aw", "w", "b")},
            "o": Out(stream.Signature(write_place_layout(beats, widths["data_bits"]))),
        }
        super().__init__(managers, memory_bytes, members, **widths)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, source, place, outside = self._begin(m)
        writing = Signal()
        answers = Signal()
        answer = Signal.like(self.b[0].payload, name="answer")
        w = Array(w.payload for w in self.w)[source]
        valid: Value = Array(w.valid for w in self.w)[source]
        m.d.comb += [
            request.ready.eq(~writing & ~answers),
            self.o.valid.eq(writing & valid),
            self.o.payload.place.eq(place),
            self.o.payload.data.eq(w.data),
            self.o.payload.strobe.eq(Mux(outside, 0, w.strobe)),
            self.o.payload.last.eq(w.last),
        ]
        with m.If(request.valid & request.ready):
            m.d.sync += [writing.eq(1), answer.id.eq(request.payload.payload.id)]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += place.eq(place + 1)
            with m.If(w.last):
                m.d.sync += [
                    writing.eq(0),
                    answers.eq(1),
                    answer.response.eq(Mux(outside, _DECERR, _OKAY)),
                ]
        with m.If(answers & Array(b.ready for b in self.b)[source]):
            m.d.sync += answers.eq(0)
        for number, (w_, b) in enumerate(zip(self.w, self.b, strict=True)):
            m.d.comb += [
                w_.ready.eq(writing & self.o.ready & (source == number)),
                b.valid.eq(answers & (source == number)),
                b.payload.eq(answer),
            ]
        return m


def join_bursts(
    m: Module, memory: Any, managers: int, memory_bytes: int, **widths: int
) -> tuple[ReadBursts, WriteBursts]:
    """Connects the channels of a memory (:func:`channels_of`) with the parts that split bursts;
    returns these."""
    m.submodules.reads = reads = ReadBursts(managers, memory_bytes, **widths)
    m.submodules.writes = writes = WriteBursts(managers, memory_bytes, **widths)
    sides: Sequence[tuple[str, Any]] = [
        *((name, reads) for name in ("ar", "r")),
        *((name, writes) for name in ("aw", "w", "b")),
    ]
    for name, part in sides:
        for outer, inner in zip(getattr(memory, name), getattr(part, name), strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
    return reads, writes
