"""A first-in first-out queue between two streams."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value, ValueLike
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .ring import NO_COLLISIONS, moved_count, ring_address

_KEPT_BITS = 16
"""Bits whose multiplexers a register can drive without a tree of buffers that takes long."""


class KeptWord(wiring.Component):
    """Registers a word between a memory and its use.

    It loads the memory's output in each cycle, without a multiplexer: the memory's access may take
    the whole period. A word that is not taken stays, in a second register.

    Parameters
    ----------
    width: bits

    Members
    -------
    i: in; the memory's output, which stays while nothing is read
    keep: in; ``o`` stays for another cycle
    o: out; what ``i`` was in the last cycle in which nothing was kept
    """

    verilog_parameters: ClassVar = {"WIDTH": "width"}

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__({"i": In(width), "keep": In(1), "o": Out(width)})

    @property
    def width(self) -> int:
        return self._width

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept_before = Signal()
        loaded = Signal(self._width, reset_less=True)
        kept = Signal(self._width, reset_less=True)
        m.d.comb += self.o.eq(Mux(kept_before, kept, loaded))
        m.d.sync += [kept_before.eq(self.keep), loaded.eq(self.i), kept.eq(self.o)]
        return m


def read_ahead(
    m: Module,
    word: Value,
    *,
    fetch: Signal,
    more: ValueLike,
    take: Value,
    clear: ValueLike,
    register: bool = False,
) -> tuple[Value, Signal]:
    """Reads words of a memory in order, ahead of their use. Returns the first one that is not yet
    taken, and whether it is valid.

    One word a cycle. A word is valid a cycle after its read; with a register, two: see
    :class:`KeptWord`.

    Parameters
    ----------
    word: the output of the memory's read port
    fetch: driven here; the next word is read. The caller counts addresses
    more: there is a next word
    take: takes the first word; without one, nothing happens
    clear: forgets everything at the end of the cycle
    register: whether a register separates the memory from the result
    """
    valid = Signal()
    if not register:
        m.d.comb += fetch.eq(more & (take | ~valid))
        with m.If(clear):
            m.d.sync += valid.eq(0)
        with m.Else():
            m.d.sync += valid.eq(fetch | (valid & ~take))
        return word, valid
    read_valid = Signal()
    moves = Signal()
    keep = Signal()
    m.d.comb += keep.eq(valid & ~take)
    parts = []
    for low in range(0, len(word), _KEPT_BITS):
        part = KeptWord(len(word[low : low + _KEPT_BITS]))
        m.submodules[f"kept_{low // _KEPT_BITS}"] = part
        m.d.comb += [part.i.eq(word[low : low + _KEPT_BITS]), part.keep.eq(keep)]
        parts.append(part.o)
    # `take` arrives late: it passes one gate on its way to the memory.
    m.d.comb += [
        moves.eq(read_valid & (take | ~valid)),
        fetch.eq((more & (~read_valid | ~valid)) | (more & take)),
    ]
    with m.If(clear):
        m.d.sync += [read_valid.eq(0), valid.eq(0)]
    with m.Else():
        m.d.sync += [
            read_valid.eq(fetch | (read_valid & ~moves)),
            valid.eq(moves | (valid & ~take)),
        ]
    return Cat(parts), valid


class DeepQueue(wiring.Component):
    """Holds ``depth`` transfers and one more at its output.

    For queues so deep that they belong into block RAM; ``Queue`` reads without a clock. Latency
    two cycles; one transfer a cycle. With a register it holds one more, a cycle longer.

    Parameters
    ----------
    payload: shape of a transfer
    depth: words of the memory, at least 2
    register: whether a register separates the memory from the output, see :func:`read_ahead`

    Members
    -------
    i, o: the streams
    clear: in; forgets everything at the end of the cycle, a transfer at ``i`` included
    """

    verilog_parameters: ClassVar = {"WIDTH": "payload", "DEPTH": "depth"}

    def __init__(self, payload: ShapeLike, depth: int, *, register: bool = False) -> None:
        self._payload = payload
        self._depth = depth
        self._register = register
        signature = stream.Signature(payload)
        super().__init__({"i": In(signature), "o": Out(signature), "clear": In(1)})

    @property
    def depth(self) -> int:
        return self._depth

    @property
    def register(self) -> bool:
        return self._register

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A word is read once `level` counts it, and overwritten once it does not.
        m.submodules.storage = storage = Memory(
            shape=self._payload, depth=self._depth, init=[], attrs=NO_COLLISIONS
        )
        write = storage.write_port()
        read = storage.read_port()
        level = Signal(range(self._depth + 1))
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
        ]
        # Where a register cuts the other paths, a late `read.en` drives no carry chain.
        moved = moved_count(level, put, read.en) if self._register else level + put - read.en
        with m.If(self.clear):
            m.d.sync += level.eq(0)
        with m.Else():
            m.d.sync += level.eq(moved)
        first, valid = read_ahead(
            m,
            Value.cast(read.data),
            fetch=read.en,
            more=level != 0,
            take=self.o.ready,
            clear=self.clear,
            register=self._register,
        )
        m.d.comb += [self.o.valid.eq(valid), self.o.payload.eq(first)]
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
