"""On-chip memory behind several AXI4 managers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..axi.layouts import address_layout, beat_layout, response_layout, write_layout
from ..stream.multiplex import RoundRobin

__all__ = ["BlockMemory"]

_OKAY, _DECERR = 0, 3


class BlockMemory(wiring.Component):
    """Answers bursts of several managers from one memory, which begins at address 0.

    Reads and writes go on side by side, of each one burst at a time, round robin, and a beat a
    cycle. First data two cycles behind AR. A burst is INCR, of whole beats, and does not cross 4
    KiB; outside the memory it is answered with DECERR, and writes nothing. A beat that is read
    while it is written has its old content.

    Parameters
    ----------
    managers: their number
    memory_bytes: size, a multiple of 4 KiB
    addr_bits, data_bits, id_bits: widths of the bus

    Members
    -------
    ar, r, aw, w, b: channels of each manager (arrays)
    """

    def __init__(
        self, managers: int, memory_bytes: int, *, addr_bits: int, data_bits: int, id_bits: int
    ) -> None:
        if memory_bytes < 4096 or memory_bytes % 4096:
            raise ValueError(f"`memory_bytes` must be a multiple of 4096, not {memory_bytes}")
        self._count, self._memory_bytes, self._data_bits = managers, memory_bytes, data_bits
        self._address = address_layout(addr_bits, id_bits)
        layouts = {
            "ar": In(stream.Signature(self._address)),
            "r": Out(stream.Signature(beat_layout(data_bits, id_bits))),
            "aw": In(stream.Signature(self._address)),
            "w": In(stream.Signature(write_layout(data_bits))),
            "b": Out(stream.Signature(response_layout(id_bits))),
        }
        super().__init__({name: member.array(managers) for name, member in layouts.items()})

    @property
    def memory_bytes(self) -> int:
        return self._memory_bytes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(
            shape=self._data_bits, depth=self._memory_bytes * 8 // self._data_bits, init=[]
        )
        self._read(m, memory.read_port())
        self._write(m, memory.write_port(granularity=8))
        return m

    def _begin(self, m: Module, name: str, sources: Any) -> tuple[Any, Signal, Signal, Signal]:
        """The requests of all managers; of the burst at hand the source, the beat's place, and
        whether it lies outside."""
        m.submodules[f"{name}_arbiter"] = arbiter = RoundRobin(self._address, self._count)
        for i, stream_ in zip(arbiter.i, sources, strict=True):
            wiring.connect(m, wiring.flipped(stream_), i)
        width = (self._data_bits // 8).bit_length() - 1
        source = Signal.like(arbiter.o.payload.source, name=f"{name}_source")
        beats = self._memory_bytes * 8 // self._data_bits
        place = Signal(range(beats), name=f"{name}_place")
        outside = Signal(name=f"{name}_outside")
        address = arbiter.o.payload.payload.address
        with m.If(arbiter.o.valid & arbiter.o.ready):
            m.d.sync += [
                source.eq(arbiter.o.payload.source),
                place.eq(address[width:]),
                outside.eq(address >= self._memory_bytes),
            ]
        return arbiter.o, source, place, outside

    def _read(self, m: Module, port: Any) -> None:
        request, source, place, outside = self._begin(m, "read", self.ar)
        reading = Signal()
        left = Signal(8)
        identity = Signal.like(request.payload.payload.id, name="read_id")
        # The beat at the memory's output.
        valid = Signal()
        beat = Signal.like(self.r[0].payload, name="beat")
        to = Signal.like(source, name="beat_source")
        free = Signal()
        m.d.comb += [
            request.ready.eq(~reading),
            free.eq(~valid | Array(r.ready for r in self.r)[to]),
            port.en.eq(reading & free),
            port.addr.eq(place),
        ]
        with m.If(request.valid & ~reading):
            m.d.sync += [
                reading.eq(1),
                left.eq(request.payload.payload.length),
                identity.eq(request.payload.payload.id),
            ]
        with m.If(free):
            m.d.sync += valid.eq(reading)
        with m.If(port.en):
            m.d.sync += [
                place.eq(place + 1),
                left.eq(left - 1),
                to.eq(source),
                beat.id.eq(identity),
                beat.last.eq(left == 0),
                beat.response.eq(Mux(outside, _DECERR, _OKAY)),
            ]
            with m.If(left == 0):
                m.d.sync += reading.eq(0)
        for number, r in enumerate(self.r):
            m.d.comb += [
                r.valid.eq(valid & (to == number)),
                r.payload.eq(beat),
                r.payload.data.eq(port.data),
            ]

    def _write(self, m: Module, port: Any) -> None:
        request, source, place, outside = self._begin(m, "write", self.aw)
        writing = Signal()
        answers = Signal()
        answer = Signal.like(self.b[0].payload, name="answer")
        w = Array(w.payload for w in self.w)[source]
        valid: Value = Array(w.valid for w in self.w)[source]
        m.d.comb += [
            request.ready.eq(~writing & ~answers),
            port.addr.eq(place),
            port.data.eq(w.data),
        ]
        with m.If(writing & valid & ~outside):
            m.d.comb += port.en.eq(w.strobe)
        with m.If(request.valid & request.ready):
            m.d.sync += [writing.eq(1), answer.id.eq(request.payload.payload.id)]
        with m.If(writing & valid):
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
                w_.ready.eq(writing & (source == number)),
                b.valid.eq(answers & (source == number)),
                b.payload.eq(answer),
            ]
