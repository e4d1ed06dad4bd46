"""The scratchpad of A: two buffers of block rows, a tile read a cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec.engine import EngineConfig
from .bank import Bank
from .layouts import Sizes, bits_for, is_part, log2, part_of
from .loader import place_layout

__all__ = ["LeftScratchpad"]


class LeftScratchpad(wiring.Component):
    """Banked by rows of a tile. A word is a beat or a tile's row, whichever is longer.

    Latency one cycle from ``read`` to ``tile``, which stays until the next read.

    Members
    -------
    write, place, data: a beat of a row of A and where it belongs
    read, row, k, buffer: read the tile ``row`` tiles down and ``k`` tiles across
    tile: (rows, depth) lanes
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._sizes = sizes = Sizes(config)
        lanes = data.ArrayLayout(config.unit.lane_bits, sizes.depth)
        super().__init__(
            {
                "write": In(1),
                "place": In(place_layout(config)),
                "data": In(config.data_bits),
                "read": In(1),
                "row": In(bits_for(sizes.block_rows)),
                "k": In(bits_for(sizes.block_depth)),
                "buffer": In(1),
                "tile": Out(data.ArrayLayout(lanes, sizes.rows)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sizes, config = self._sizes, self._config
        width, beats = sizes.a_lanes * config.unit.lane_bits, sizes.a_lanes // sizes.beat_lanes
        tiles = sizes.a_lanes // sizes.depth
        beat_end = log2(sizes.block_depth * sizes.depth // sizes.beat_lanes)
        row_end = log2(sizes.block_rows * sizes.rows)
        written = Cat(
            self.place.beat[log2(beats) : beat_end],
            self.place.row[log2(sizes.rows) : row_end],
            self.place.buffer,
        )
        wanted = Cat(
            self.k[log2(tiles) : log2(sizes.block_depth)],
            self.row[: log2(sizes.block_rows)],
            self.buffer,
        )
        part = Signal(bits_for(tiles))
        if tiles > 1:
            with m.If(self.read):
                m.d.sync += part.eq(self.k[: log2(tiles)])
        for number in range(sizes.rows):
            bank = Bank(width=width, depth=1 << len(written), parts=beats)
            m.submodules[f"bank_{number}"] = bank
            chosen = self.write & is_part(self.place.row, 0, sizes.rows, number)
            parts = (chosen & is_part(self.place.beat, 0, beats, n) for n in range(beats))
            m.d.comb += [
                bank.write.eq(Cat(parts)),
                bank.write_address.eq(written),
                bank.write_data.eq(self.data.replicate(beats)),
                bank.read.eq(self.read),
                bank.read_address.eq(wanted),
                self.tile[number].eq(part_of(bank.read_data, tiles, part)),
            ]
        return m
