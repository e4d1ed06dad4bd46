"""The scratchpad of C and D: two buffers of result blocks, in which the sums over k grow."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec.engine import EngineConfig
from .layouts import Sizes, bits_for, is_part, log2, part_of
from .loader import place_layout
from .right_scratchpad import Bank

__all__ = ["ResultScratchpad", "tile_layout"]


def tile_layout(config: EngineConfig) -> data.StructLayout:
    """Place of a tile of the result in the scratchpad: tiles down, tiles across, buffer."""
    rows, cols, _ = config.block
    return data.StructLayout({"row": bits_for(rows), "col": bits_for(cols), "buffer": 1})


class ResultScratchpad(wiring.Component):
    """Scratchpad for C and D, banked by rows of a tile; each buffer is a memory of its own.

    A buffer belongs to the loader, then to the unit, then to the storer. Whoever uses one
    buffer, another may use the other one in the same cycle. A word is a tile's row or a beat,
    whichever has more elements. Reading has a latency of one cycle, and what was read stays until
    the same reader reads again.

    Members
    -------
    result: width of an element in memory, one bit for each of ``config.result_widths``
    load, load_place, load_data: a beat of C comes
    read, read_tile: the unit reads a tile; ``tile`` is (rows, cols) elements
    write, write_tile, write_data: the unit writes a tile
    store, store_place: a beat of D is read; ``beat`` is the beat
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._sizes = sizes = Sizes(config)
        row = data.ArrayLayout(sizes.c_bits, sizes.cols)
        tile = data.ArrayLayout(row, sizes.rows)
        super().__init__(
            {
                "result": In(len(config.result_widths)),
                "load": In(1),
                "load_place": In(place_layout(config)),
                "load_data": In(config.data_bits),
                "read": In(1),
                "read_tile": In(tile_layout(config)),
                "tile": Out(tile),
                "write": In(1),
                "write_tile": In(tile_layout(config)),
                "write_data": In(tile),
                "store": In(1),
                "store_place": In(place_layout(config)),
                "beat": Out(config.data_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sizes = self._sizes
        wide = sizes.c_lanes // sizes.cols
        read_buffer = Signal()
        store_buffer = Signal()
        part = Signal(bits_for(wide))
        with m.If(self.read):
            m.d.sync += read_buffer.eq(self.read_tile.buffer)
            if wide > 1:
                m.d.sync += part.eq(self.read_tile.col[: log2(wide)])
        place = Signal.like(self.store_place)
        with m.If(self.store):
            m.d.sync += [store_buffer.eq(self.store_place.buffer), place.eq(self.store_place)]
        load_lanes, load_enables = self._load(m)
        # A signal each: Amaranth would repeat the expression wherever a part of it is used.
        stored = Signal(data.ArrayLayout(len(load_lanes), sizes.rows))
        stored_word = Signal(len(load_lanes))
        for bank in range(sizes.rows):
            words = []
            for buffer in range(2):
                words.append(self._bank(m, bank, buffer, load_lanes, load_enables))
            word = Mux(read_buffer, words[1], words[0])
            m.d.comb += self.tile[bank].eq(part_of(word, wide, part))
            m.d.comb += stored[bank].eq(Mux(store_buffer, words[1], words[0]))
        m.d.comb += stored_word.eq(part_of(stored.as_value(), sizes.rows, place.row))
        m.d.comb += self.beat.eq(self._beat(stored_word, place.beat))
        return m

    def _place_address(self, place: data.View[data.StructLayout]) -> Value:
        """The word a beat belongs to."""
        sizes = self._sizes
        across = log2(sizes.block_cols * sizes.cols // sizes.c_lanes)
        col: Value = Const(0, 0)
        for index, bits in enumerate(self._config.result_widths if across else ()):
            per_word = log2(sizes.c_lanes * bits // self._config.data_bits)
            option = place.beat[per_word : per_word + across]
            col = Mux(self.result[index], option, col) if index else option
        row = place.row[log2(sizes.rows) : log2(sizes.block_rows * sizes.rows)]
        return Cat(col, row)

    def _tile_address(self, tile: data.View[data.StructLayout]) -> Value:
        sizes = self._sizes
        wide = log2(sizes.c_lanes // sizes.cols)
        return Cat(tile.col[wide : log2(sizes.block_cols)], tile.row[: log2(sizes.block_rows)])

    def _load(self, m: Module) -> tuple[Signal, Signal]:
        """A beat of C spread over a word, and which of its elements it is."""
        sizes, config = self._sizes, self._config
        lanes = Signal(sizes.c_lanes * sizes.c_bits, name="load_lanes")
        enables = Signal(sizes.c_lanes, name="load_enables")
        for index, bits in enumerate(config.result_widths):
            per_beat = config.data_bits // bits
            elements = [self.load_data.word_select(n, bits) for n in range(per_beat)]
            parts = sizes.c_lanes // per_beat
            filled = Cat(Cat(e, Const(0, sizes.c_bits - bits)) for e in elements)
            with m.If(self.result[index]):
                m.d.comb += lanes.eq(filled.replicate(parts))
                m.d.comb += enables.eq(
                    Cat(
                        is_part(self.load_place.beat, 0, parts, n // per_beat)
                        for n in range(sizes.c_lanes)
                    )
                )
        return lanes, enables

    def _bank(
        self, m: Module, bank: int, buffer: int, load_lanes: Value, load_enables: Value
    ) -> Value:
        """A memory with its users; returns the word read last."""
        sizes = self._sizes
        name = f"bank_{bank}_{buffer}"
        wide = sizes.c_lanes // sizes.cols
        words = sizes.block_rows * sizes.block_cols // wide
        memory = Bank(width=len(load_lanes), depth=words, parts=sizes.c_lanes)
        m.submodules[name] = memory
        unit_writes = Signal(name=f"{name}_unit_writes")
        unit_reads = Signal(name=f"{name}_unit_reads")
        storer_reads = Signal(name=f"{name}_storer_reads")
        in_bank = is_part(self.load_place.row, 0, sizes.rows, bank)
        loads = self.load & in_bank & (self.load_place.buffer == buffer)
        columns = Cat(
            is_part(self.write_tile.col, 0, wide, n // sizes.cols) for n in range(sizes.c_lanes)
        )
        written = self.write_data[bank].as_value().replicate(wide)
        from_unit, to_unit = self._tile_address(self.write_tile), self._tile_address(self.read_tile)
        from_bus = self._place_address(self.load_place)
        to_bus = self._place_address(self.store_place)
        loaded = load_enables & loads.replicate(sizes.c_lanes)
        m.d.comb += [
            unit_writes.eq(self.write & (self.write_tile.buffer == buffer)),
            unit_reads.eq(self.read & (self.read_tile.buffer == buffer)),
            storer_reads.eq(self.store & (self.store_place.buffer == buffer)),
            memory.write.eq(Mux(unit_writes, columns, loaded)),
            memory.write_address.eq(Mux(unit_writes, from_unit, from_bus)),
            memory.write_data.eq(Mux(unit_writes, written, load_lanes)),
            memory.read.eq(unit_reads | storer_reads),
            memory.read_address.eq(Mux(unit_reads, to_unit, to_bus)),
        ]
        return memory.read_data

    def _beat(self, word: Value, beat: Value) -> Value:
        """The beat of a word, its elements at the width they have in memory."""
        sizes, config = self._sizes, self._config
        elements = [word.word_select(n, sizes.c_bits) for n in range(sizes.c_lanes)]
        chosen: Value = Const(0)
        for index, bits in enumerate(config.result_widths):
            per_beat = config.data_bits // bits
            packed = Cat(e[:bits] for e in elements)
            packed = part_of(packed, sizes.c_lanes // per_beat, beat)
            chosen = Mux(self.result[index], packed, chosen) if index else packed
        return chosen
