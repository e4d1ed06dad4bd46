"""On-chip memory behind several AXI4 managers."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory

from .bursts import channels_of, join_bursts

__all__ = ["BlockMemory"]


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
        self._count, self._memory_bytes = managers, memory_bytes
        self._widths = {"addr_bits": addr_bits, "data_bits": data_bits, "id_bits": id_bits}
        super().__init__(channels_of(managers, **self._widths))

    @property
    def memory_bytes(self) -> int:
        return self._memory_bytes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reads, writes = join_bursts(m, self, self._count, self._memory_bytes, **self._widths)
        width = self._widths["data_bits"]
        m.submodules.memory = memory = Memory(
            shape=width, depth=self._memory_bytes * 8 // width, init=[]
        )
        read, write = memory.read_port(), memory.write_port(granularity=8)
        # The beat at the memory's output.
        valid = Signal()
        tag = Signal.like(reads.o.payload.tag, name="tag")
        m.d.comb += [
            reads.o.ready.eq(~valid | reads.i.ready),
            read.en.eq(reads.o.valid & reads.o.ready),
            read.addr.eq(reads.o.payload.place),
            reads.i.valid.eq(valid),
            reads.i.payload.tag.eq(tag),
            reads.i.payload.data.eq(read.data),
            writes.o.ready.eq(1),
            write.addr.eq(writes.o.payload.place),
            write.data.eq(writes.o.payload.data),
        ]
        with m.If(reads.o.ready):
            m.d.sync += valid.eq(reads.o.valid)
        with m.If(read.en):
            m.d.sync += tag.eq(reads.o.payload.tag)
        with m.If(writes.o.valid):
            m.d.comb += write.en.eq(writes.o.payload.strobe)
        return m
