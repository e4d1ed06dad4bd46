"""Memories of a lane, and the selection of their users."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, LEFT_WORD_BYTES, RESULT_WORD_BYTES, GtaConfig
from ..float.headers import one_of
from ..layouts import (
    LaneMemoryName,
    left_words,
    read_data_layout,
    read_layout,
    result_words,
    write_layout,
)


class LaneMemory(wiring.Component):
    """Eight banks of words whose bytes are written one by one.

    Latency one cycle from ``read`` to ``read_data``, which stays until the bank's next read. A word
    that is read while it is written gives its old content. Nothing is known of a byte before it is
    written.

    Parameters
    ----------
    words: of a bank
    word_bytes: of a word

    Members
    -------
    read: in; banks that are read, a bit each
    read_address, write_address: in; by bank
    read_data: out; by bank
    write: in; by bank, a bit for each byte that is written
    write_data: in; by bank
    """

    def __init__(self, *, words: int, word_bytes: int) -> None:
        self._words, self._word_bytes = words, word_bytes
        address = data.ArrayLayout(range(words), BANKS)
        word = data.ArrayLayout(8 * word_bytes, BANKS)
        super().__init__(
            {
                "read": In(BANKS),
                "read_address": In(address),
                "read_data": Out(word),
                "write": In(data.ArrayLayout(word_bytes, BANKS)),
                "write_address": In(address),
                "write_data": In(word),
            }
        )

    @property
    def words(self) -> int:
        return self._words

    @property
    def word_bytes(self) -> int:
        return self._word_bytes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for n in range(BANKS):
            m.submodules[f"bank_{n}"] = bank = Memory(
                shape=unsigned(8 * self._word_bytes), depth=self._words, init=[]
            )
            writing, reading = bank.write_port(granularity=8), bank.read_port()
            m.d.comb += [
                writing.en.eq(self.write[n]),
                writing.addr.eq(self.write_address[n]),
                writing.data.eq(self.write_data[n]),
                reading.en.eq(self.read[n]),
                reading.addr.eq(self.read_address[n]),
                self.read_data[n].eq(reading.data),
            ]
        return m


_WORD_BITS = 8 * RESULT_WORD_BYTES

_EDGES = {"left": LaneMemoryName.LEFT, "top": LaneMemoryName.TOP}


class LaneMemories(wiring.Component):
    """Memories for rows, columns and results.

    The array's accesses of results go before those from outside: reads bank by bank, so that one
    from outside is done as soon as the array reads none of its banks; writes of all banks together.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    left_read, left_address, left_words, top_read, ...: in, in and out; banks that are read, where,
      and what was there a cycle later
    read, read_address, words: likewise of the banks of results
    part: in; by bank, of what was read a cycle before: which ``quarters`` are given, and which
      ``halves``, with its upper bit; out
    write, write_address: in; by bank of results, a bit for each byte that is written, and where
    writes: in; a bit of ``write`` is set
    by_planes, write_planes: in; what each quarter of a word is given, by bank
    write_half: in; (integers) otherwise: what both its halves are
    floats, write_words, write_upper, upper: in; (floats) of floats the whole word, by adder of a
      row, or the one for all banks whose bit is set
    outside_write, write_ready: see ``Lane.write``; outside_read, read_ready, read_data: as well
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        edge = data.ArrayLayout(range(left_words(config)), BANKS)
        edge_words = data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)
        address = data.ArrayLayout(range(result_words(config)), BANKS)
        words = data.ArrayLayout(_WORD_BITS, BANKS)
        quarters = data.ArrayLayout(_WORD_BITS // 4, BANKS)
        floats = {
            "floats": In(1),
            "write_words": In(data.ArrayLayout(_WORD_BITS, config.row_adders)),
            "write_upper": In(_WORD_BITS),
            "upper": In(BANKS),
        }
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
                "part": In(data.ArrayLayout(2, BANKS)),
                "halves": Out(edge_words),
                "quarters": Out(quarters),
                "write": In(data.ArrayLayout(RESULT_WORD_BYTES, BANKS)),
                "write_address": In(address),
                "writes": In(1),
                "by_planes": In(1),
                "write_planes": In(quarters),
                **({"write_half": In(edge_words)} if config.integers else {}),
                **(floats if config.floats else {}),
                "outside_write": In(write_layout(config)),
                "write_ready": Out(1),
                "outside_read": In(read_layout(config)),
                "read_ready": Out(1),
                "read_data": Out(read_data_layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name in _EDGES:
            self._edge(m, name)
        self._results(m)
        return m

    def _edge(self, m: Module, name: str) -> None:
        memory = LaneMemory(words=left_words(self.config), word_bytes=LEFT_WORD_BYTES)
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
        memory = LaneMemory(words=result_words(self.config), word_bytes=RESULT_WORD_BYTES)
        m.submodules.result_memory = memory
        write, read = self.outside_write, self.outside_read
        outside = Signal()
        m.d.comb += [
            self.write_ready.eq(~self.writes),
            self.read_ready.eq(~(self.read & read.banks).any()),
            outside.eq(write.enable & (write.memory == LaneMemoryName.RESULT) & ~self.writes),
            memory.read.eq(self.read | (read.banks & read.enable.replicate(BANKS))),
            self.words.eq(memory.read_data),
            self.read_data.eq(self.halves),
        ]
        low, word = write.address[0], write.address[1:]
        for n in range(BANKS):
            part = write.mask[n]
            half = Mux(low, Cat(Const(0, LEFT_WORD_BYTES), part), part)
            m.d.comb += [
                memory.read_address[n].eq(
                    Mux(self.read[n], self.read_address[n], read.address[1:])
                ),
                memory.write_address[n].eq(Mux(self.writes, self.write_address[n], word)),
                memory.write[n].eq(self.write[n] | (half & outside.replicate(len(half)))),
            ]
        self._parts(m)
        self._written(m, memory)

    def _parts(self, m: Module) -> None:
        """Selects the parts of the words that the array, or else the outside, has read."""
        inside = Signal(BANKS, name="were_read_inside")
        upper = Signal(name="upper_half_outside")
        m.d.sync += [inside.eq(self.read), upper.eq(self.outside_read.address[0])]
        for n in range(BANKS):
            word, half, part = self.words[n], self.halves[n], self.part[n]
            middle = len(half) // 2
            m.d.comb += [
                half.eq(Mux(Mux(inside[n], part[1], upper), word[len(half) :], word[: len(half)])),
                self.quarters[n].eq(Mux(part[0], half[middle:], half[:middle])),
            ]

    def _written(self, m: Module, memory: LaneMemory) -> None:
        """Selects the data written to each bank, repeated to the width of the word."""
        config = self.config
        planes = Signal(name="planes_are_written")
        whole = Signal(name="floats_are_written")
        integers = Signal(name="integers_are_written")
        m.d.comb += [
            planes.eq(self.writes & self.by_planes),
            whole.eq(self.writes & ~self.by_planes & (self.floats if config.floats else 0)),
            integers.eq(self.writes & ~self.by_planes & ~whole),
        ]
        for n in range(BANKS):
            parts = [(~self.writes, self.outside_write.data[n])]
            parts.append((planes, self.write_planes[n].replicate(2)))
            if config.integers:
                parts.append((integers, self.write_half[n]))
            written = one_of(*zip(*parts, strict=True)).replicate(2)
            if config.floats:
                word: Value = self.write_words[n // (BANKS // config.row_adders)]
                selected: list[Value] = [whole]
                if "fp64" in config.floats:
                    selected = [whole & ~self.upper[n], whole & self.upper[n]]
                written = written | one_of(selected, [word, self.write_upper][: len(selected)])
            m.d.comb += memory.write_data[n].eq(written)
