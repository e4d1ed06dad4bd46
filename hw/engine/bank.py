"""A bank of a scratchpad: a memory with one write and one read port."""

from __future__ import annotations

from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .layouts import bits_for

__all__ = ["Bank"]


class Bank(wiring.Component):
    """Words that are written part by part.

    Latency one cycle from ``read`` to ``read_data``, which stays until the next read. Reading a
    word while it is written gives the old content.

    Parameters
    ----------
    width, depth: bits of a word, number of words
    parts: equal parts of a word, each with its own write enable

    Members
    -------
    write, write_address, write_data: a bit for each part to write, where, what
    read, read_address, read_data
    """

    def __init__(self, *, width: int, depth: int, parts: int) -> None:
        self._width, self._depth, self._parts = width, depth, parts
        super().__init__(
            {
                "write": In(parts),
                "write_address": In(bits_for(depth)),
                "write_data": In(width),
                "read": In(1),
                "read_address": In(bits_for(depth)),
                "read_data": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = max(2, self._depth)
        m.submodules.words = words = Memory(shape=unsigned(self._width), depth=depth, init=[])
        write = words.write_port(granularity=self._width // self._parts)
        read = words.read_port()
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            read.en.eq(self.read),
            read.addr.eq(self.read_address),
            self.read_data.eq(read.data),
        ]
        return m
