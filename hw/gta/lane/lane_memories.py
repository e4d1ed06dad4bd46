"""A lane's memories, and whose turn it is."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, LEFT_WORD_BYTES, RESULT_WORD_BYTES, GtaConfig
from ..layouts import (
    LaneMemoryName,
    left_words,
    read_data_layout,
    read_layout,
    result_words,
    write_layout,
)
from .lane_memory import LaneMemory

__all__ = ["LaneMemories"]

_EDGES = {"left": LaneMemoryName.LEFT, "top": LaneMemoryName.TOP}


class LaneMemories(wiring.Component):
    """Memories for rows, columns and results.

    The array's accesses of results go before those from outside.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    left_read, left_address, left_words, top_read, ...: in, in and out; banks that are read, where,
      and what was there a cycle later
    read, read_address, words: likewise of the banks of results
    write, write_address: in; by bank of results, a bit for each byte that is written, and where
    write_half: in; what both halves of a word are given, or with ``whole``, of a configuration with
      floats, ``write_data``: all of it
    outside_write, write_ready: see ``Lane.write``; outside_read, read_ready, read_data: as well
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        edge = data.ArrayLayout(range(left_words(config)), BANKS)
        edge_words = data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)
        address = data.ArrayLayout(range(result_words(config)), BANKS)
        words = data.ArrayLayout(8 * RESULT_WORD_BYTES, BANKS)
        whole = {"whole": In(1), "write_data": In(words)}
        super().__init__(
            {
                "left_read": In(BANKS),
                "left_address": In(edge),
                "left_words": Out(edge_words),
                "top_read": In(BANKS),
                "top_address": In(edge),
                "top_words": Out(edge_words),
                "read": In(BANKS),
                "read_address": In(address),
                "words": Out(words),
                "write": In(data.ArrayLayout(RESULT_WORD_BYTES, BANKS)),
                "write_address": In(address),
                "write_half": In(edge_words),
                **(whole if config.floats else {}),
                "outside_write": In(write_layout(config)),
                "write_ready": Out(1),
                "outside_read": In(read_layout(config)),
                "read_ready": Out(1),
                "read_data": Out(read_data_layout()),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name in _EDGES:
            self._edge(m, name)
        self._results(m)
        return m

    def _edge(self, m: Module, name: str) -> None:
        memory = LaneMemory(words=left_words(self._config), word_bytes=LEFT_WORD_BYTES)
        m.submodules[f"{name}_memory"] = memory
        writes = Signal(name=f"writes_{name}")
        write = self.outside_write
        m.d.comb += [
            writes.eq(write.enable & (write.memory == _EDGES[name])),
            memory.read.eq(getattr(self, f"{name}_read")),
            memory.read_address.eq(getattr(self, f"{name}_address")),
            getattr(self, f"{name}_words").eq(memory.read_data),
            memory.write_data.eq(write.data),
        ]
        for n in range(BANKS):
            m.d.comb += [
                memory.write[n].eq(Mux(writes, write.mask[n], 0)),
                memory.write_address[n].eq(write.address[: len(memory.write_address[n])]),
            ]

    def _results(self, m: Module) -> None:
        memory = LaneMemory(words=result_words(self._config), word_bytes=RESULT_WORD_BYTES)
        m.submodules.result_memory = memory
        write, read = self.outside_write, self.outside_read
        writes = Signal()
        reads = Signal()
        outside = Signal()
        m.d.comb += [
            writes.eq(self.write.as_value().any()),
            reads.eq(self.read.any()),
            self.write_ready.eq(~writes),
            self.read_ready.eq(~reads),
            outside.eq(write.enable & (write.memory == LaneMemoryName.RESULT) & ~writes),
            memory.read.eq(Mux(reads, self.read, read.enable.replicate(BANKS))),
            self.words.eq(memory.read_data),
        ]
        low, word = write.address[0], write.address[1:]
        upper = Signal()
        m.d.sync += upper.eq(read.address[0])
        bits = 8 * LEFT_WORD_BYTES
        for n in range(BANKS):
            part = write.mask[n]
            half = Mux(low, Cat(Const(0, LEFT_WORD_BYTES), part), part)
            found = memory.read_data[n]
            written = Mux(outside, write.data[n], self.write_half[n]).replicate(2)
            if self._config.floats:
                written = Mux(~outside & self.whole, self.write_data[n], written)
            m.d.comb += [
                memory.read_address[n].eq(Mux(reads, self.read_address[n], read.address[1:])),
                memory.write_address[n].eq(Mux(outside, word, self.write_address[n])),
                memory.write[n].eq(Mux(outside, half, self.write[n])),
                memory.write_data[n].eq(written),
                self.read_data[n].eq(Mux(upper, found[bits:], found[:bits])),
            ]
