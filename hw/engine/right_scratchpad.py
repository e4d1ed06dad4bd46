"""The scratchpad of B: two buffers of block rows, written by rows or by columns."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..spec.engine import EngineConfig
from .layouts import Sizes, bits_for, is_part, log2, part_of
from .loader import place_layout


class Bank(wiring.Component):
    """Memory whose words are written part by part.

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


__all__ = ["RightScratchpad"]


class RightScratchpad(wiring.Component):
    """Scratchpad for B, banked by lanes of k: a beat along N is written into words, one along K
    into banks.

    There are as many banks as a tile has lanes of depth, or a beat has, if these are more; a
    word is a row of a tile or a beat, whichever is longer, and is written lane by lane. Of an
    element of several lanes the low one belongs to the lower k.

    Latency one cycle from ``read`` to ``tile``, which stays until the next read.

    Members
    -------
    write, place, data: a beat of a row of B in memory and where it belongs
    transposed: rows in memory are columns of B
    element: width of an element, one bit for each of ``config.element_lanes``
    read, col, k, buffer: read the tile ``col`` tiles across and ``k`` tiles down
    tile: (depth, cols) lanes
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._sizes = sizes = Sizes(config)
        self._lane = config.unit.lane_bits
        lanes = data.ArrayLayout(self._lane, sizes.cols)
        super().__init__(
            {
                "write": In(1),
                "place": In(place_layout(config)),
                "data": In(config.data_bits),
                "transposed": In(1),
                "element": In(len(config.element_lanes)),
                "read": In(1),
                "col": In(bits_for(sizes.block_cols)),
                "k": In(bits_for(sizes.block_depth)),
                "buffer": In(1),
                "tile": Out(data.ArrayLayout(lanes, sizes.depth)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sizes = self._sizes
        word = sizes.b_lanes * self._lane
        written = self._written()
        deep, wide = sizes.b_banks // sizes.depth, sizes.b_lanes // sizes.cols
        wanted = Cat(
            self.col[log2(wide) : log2(sizes.block_cols)],
            self.k[log2(deep) : log2(sizes.block_depth)],
            self.buffer,
        )
        part = Signal(bits_for(wide))
        group = Signal(bits_for(deep))
        with m.If(self.read):
            if wide > 1:
                m.d.sync += part.eq(self.col[: log2(wide)])
            if deep > 1:
                m.d.sync += group.eq(self.k[: log2(deep)])
        rows = []
        for number in range(sizes.b_banks):
            bank = Bank(width=word, depth=1 << len(wanted), parts=sizes.b_lanes)
            m.submodules[f"bank_{number}"] = bank
            lanes, enables = self._write(m, number)
            m.d.comb += [
                bank.write.eq(enables),
                bank.write_address.eq(written),
                bank.write_data.eq(lanes),
                bank.read.eq(self.read),
                bank.read_address.eq(wanted),
            ]
            rows.append(part_of(bank.read_data, wide, part))
        for lane in range(sizes.depth):
            m.d.comb += self.tile[lane].eq(part_of(Cat(rows[lane :: sizes.depth]), deep, group))
        return m

    def _written(self) -> Value:
        """The address of the word a beat belongs to: column part, k part, buffer."""
        sizes, place = self._sizes, self.place
        col_bits = log2(sizes.block_cols * sizes.cols // sizes.b_lanes)
        k_bits = log2(sizes.block_depth * sizes.depth // sizes.b_banks)
        cols = [place.row[log2(sizes.b_lanes) :]]
        ks = [place.beat[log2(sizes.b_banks // sizes.beat_lanes) :]]
        for per in self._config.element_lanes:
            cols.append(place.beat[log2(sizes.b_lanes * per // sizes.beat_lanes) :])
            ks.append(place.row[log2(sizes.b_banks // per) :])
        return Cat(self._by_shape(cols, col_bits), self._by_shape(ks, k_bits), place.buffer)

    def _by_shape(self, options: list[Value], width: int) -> Value:
        """The low bits of the first option if B is transposed, else of the element's."""
        if width == 0:
            return Const(0, 0)
        chosen = options[1][:width]
        for index, option in enumerate(options[2:], 1):
            chosen = Mux(self.element[index], option[:width], chosen)
        return Mux(self.transposed, options[0][:width], chosen)

    def _write(self, m: Module, bank: int) -> tuple[Value, Value]:
        """Computes a bank's data and lane enables for the current beat."""
        sizes, place = self._sizes, self.place
        beat = [self.data.word_select(n, self._lane) for n in range(sizes.beat_lanes)]
        lanes: list[Value] = [beat[bank % len(beat)]] * sizes.b_lanes
        chosen = is_part(place.beat, 0, sizes.b_banks // len(beat), bank // len(beat))
        enables: list[Value] = [
            chosen & is_part(place.row, 0, sizes.b_lanes, lane) for lane in range(sizes.b_lanes)
        ]
        for index, per in enumerate(self._config.element_lanes):
            elements = len(beat) // per
            by_row = self.element[index] & ~self.transposed
            chosen = is_part(place.row, 0, sizes.b_banks // per, bank // per)
            for lane in range(sizes.b_lanes):
                source = beat[lane % elements * per + bank % per]
                part = is_part(place.beat, 0, sizes.b_lanes // elements, lane // elements)
                lanes[lane] = Mux(by_row, source, lanes[lane])
                enables[lane] = Mux(by_row, chosen & part, enables[lane])
        data_lanes = Signal(sizes.b_lanes * self._lane, name=f"lanes_{bank}")
        enable = Signal(sizes.b_lanes, name=f"enable_{bank}")
        m.d.comb += data_lanes.eq(Cat(lanes))
        m.d.comb += enable.eq(Cat(e & self.write for e in enables))
        return data_lanes, enable
