"""The scratchpad of C and D: two buffers of result blocks, in which the sums over k grow."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..spec.engine import EngineConfig
from .block_transfers import place_layout
from .layouts import Sizes, bits_for, is_part, log2, part_of

_MEMORY_BITS = 1 << 14
"""Most bits of a memory: the access time of a larger one would leave too little of a cycle for the
multiplexers behind it."""


class Bank(wiring.Component):
    """Memory whose words are written part by part.

    Latency one cycle from ``read`` to ``read_data``, which stays until the next read. Reading a
    word while it is written gives the old content. A large one is several memories side by side,
    of whole parts of a word each.

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
        beside = min(self._parts, max(1, self._width * depth // _MEMORY_BITS))
        width, parts = self._width // beside, self._parts // beside
        for number in range(beside):
            name = "words" if beside == 1 else f"words_{number}"
            words = Memory(shape=unsigned(width), depth=depth, init=[])
            m.submodules[name] = words
            write = words.write_port(granularity=width // parts)
            read = words.read_port()
            m.d.comb += [
                write.en.eq(self.write.word_select(number, parts)),
                write.addr.eq(self.write_address),
                write.data.eq(self.write_data.word_select(number, width)),
                read.en.eq(self.read),
                read.addr.eq(self.read_address),
                self.read_data.word_select(number, width).eq(read.data),
            ]
        return m


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


def tile_layout(config: EngineConfig) -> data.StructLayout:
    """Place of a tile of the result in the scratchpad: tiles down, tiles across, buffer."""
    rows, cols, _ = config.block
    return data.StructLayout({"row": bits_for(rows), "col": bits_for(cols), "buffer": 1})


class ResultScratchpad(wiring.Component):
    """Scratchpad for C and D, banked by rows of a tile; each buffer is a memory of its own.

    A buffer belongs to the loader, then to the unit, then to the storer. Whoever uses one
    buffer, another may use the other one in the same cycle. A word is a tile's row or a beat,
    whichever has more elements. A tile has a latency of one cycle and stays until the unit reads
    again. A beat of D has two: the access, and a register behind the choice of a word's elements.

    Members
    -------
    result: width of an element in memory, one bit for each of ``config.result_widths``
    load, load_place, load_data: a beat of C comes
    read, read_tile: the unit reads a tile; ``tile`` is (rows, cols) elements
    write, write_tile, write_data: the unit writes a tile
    store, store_place: a beat of D is read
    advance: the beat that was read moves into the register, ``beat``
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
                "advance": In(1),
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
        beats = Signal(data.ArrayLayout(self._config.data_bits, sizes.rows), reset_less=True)
        row = Signal.like(place.row)
        with m.If(self.advance):
            m.d.sync += row.eq(place.row)
        for bank in range(sizes.rows):
            words = []
            for buffer in range(2):
                words.append(self._bank(m, bank, buffer, load_lanes, load_enables))
            word = Mux(read_buffer, words[1], words[0])
            m.d.comb += self.tile[bank].eq(part_of(word, wide, part))
            # A signal: Amaranth would repeat the expression wherever a part of it is used.
            stored = Signal(len(word), name=f"stored_{bank}")
            m.d.comb += stored.eq(Mux(store_buffer, words[1], words[0]))
            with m.If(self.advance):
                m.d.sync += beats[bank].eq(self._beat(stored, place.beat))
        m.d.comb += self.beat.eq(part_of(beats.as_value(), sizes.rows, row))
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
