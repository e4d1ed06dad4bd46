"""A first-in first-out queue between two streams."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .ring import ring_address


class DeepQueue(wiring.Component):
    """Holds ``depth`` transfers and one more at its output.

    For queues so deep that they belong into block RAM; ``Queue`` reads without a clock. Latency
    two cycles; one transfer a cycle.

    Parameters
    ----------
    payload: shape of a transfer
    depth: words of the memory, at least 2

    Members
    -------
    i, o: the streams
    clear: in; forgets everything at the end of the cycle, a transfer at ``i`` included
    """

    verilog_parameters: ClassVar = {"WIDTH": "payload", "DEPTH": "depth"}

    def __init__(self, payload: ShapeLike, depth: int) -> None:
        self._payload = payload
        self._depth = depth
        signature = stream.Signature(payload)
        super().__init__({"i": In(signature), "o": Out(signature), "clear": In(1)})

    @property
    def depth(self) -> int:
        return self._depth

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(shape=self._payload, depth=self._depth, init=[])
        write = storage.write_port()
        read = storage.read_port()
        level = Signal(range(self._depth + 1))
        valid = Signal()
        put = Signal()
        for name, port, moved in (("write", write, put), ("read", read, read.en)):
            address = ring_address(
                m, f"{name}_address", self._depth, advance=moved, clear=self.clear
            )
            m.d.comb += port.addr.eq(address)
        m.d.comb += [
            self.i.ready.eq(level != self._depth),
            put.eq(self.i.valid & self.i.ready),
            write.en.eq(put),
            write.data.eq(self.i.payload),
            read.en.eq((level != 0) & (self.o.ready | ~valid)),
            self.o.valid.eq(valid),
            self.o.payload.eq(read.data),
        ]
        with m.If(self.clear):
            m.d.sync += [level.eq(0), valid.eq(0)]
        with m.Else():
            m.d.sync += [
                level.eq(level + put - read.en),
                valid.eq(read.en | (valid & ~self.o.ready)),
            ]
        return m


class Queue(wiring.Component):
    """Holds up to ``depth`` transfers. Neither side's handshake depends on the other's.

    Latency one cycle; one transfer a cycle.

    Parameters
    ----------
    payload: shape of a transfer
    depth: capacity, in transfers

    Members
    -------
    i, o: the streams
    """

    verilog_parameters: ClassVar = {"WIDTH": "payload", "DEPTH": "depth"}

    def __init__(self, payload: ShapeLike, depth: int) -> None:
        self._payload = payload
        self._depth = depth
        super().__init__({"i": In(stream.Signature(payload)), "o": Out(stream.Signature(payload))})

    @property
    def depth(self) -> int:
        return self._depth

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(shape=self._payload, depth=self._depth, init=[])
        write = storage.write_port()
        read = storage.read_port(domain="comb")
        level = Signal(range(self._depth + 1))
        put = Signal()
        take = Signal()
        m.d.comb += [
            self.i.ready.eq(level != self._depth),
            self.o.valid.eq(level != 0),
            put.eq(self.i.valid & self.i.ready),
            take.eq(self.o.valid & self.o.ready),
            write.en.eq(put),
            write.data.eq(self.i.payload),
            self.o.payload.eq(read.data),
            write.addr.eq(ring_address(m, "write_address", self._depth, advance=put)),
            read.addr.eq(ring_address(m, "read_address", self._depth, advance=take)),
        ]
        m.d.sync += level.eq(level + put - take)
        return m
