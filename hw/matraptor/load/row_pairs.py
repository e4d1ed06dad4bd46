"""The pairs of a lane's rows, from whole blocks of pairs."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...channels.c2sr_words import pair_of
from ...channels.held_block import HeldBlock
from ...spec.c2sr import PAIR_BYTES
from ...spec.matraptor import MatRaptorConfig
from ...stream.skid_buffer import SkidBuffer
from ..layouts import row_layout
from ..row_walk import walk_layout

__all__ = ["RowPairs", "paired_row_layout"]


def paired_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """A row with its ``channel``, whether it is the lane's ``last``, ``length`` and ``pointer``."""
    return data.StructLayout(
        {
            "row": row_layout(config),
            "channel": config.layout.channel_bits,
            "last": 1,
            "length": 32,
            "pointer": 32,
        }
    )


class RowPairs(wiring.Component):
    """Joins rows and the blocks of their pairs. One row a cycle, one beat a cycle.

    Members
    -------
    rows: see ``walk_layout``
    beats: whole blocks of pairs, one for each ``first`` row
    o: see :func:`paired_row_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "rows": In(stream.Signature(walk_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(paired_row_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.block = block = HeldBlock(config.geometry)
        m.submodules.found = found = SkidBuffer(paired_row_layout(config), clearable=True)
        wiring.connect(m, wiring.flipped(self.beats), block.beats)
        wiring.connect(m, found.o, wiring.flipped(self.o))
        beat_pairs = config.beat_bytes // PAIR_BYTES
        shift = beat_pairs.bit_length() - 1
        source, row = self.rows.payload, found.i.payload
        place = source.row.index[: (config.layout.block_pairs - 1).bit_length()]
        number = place[:shift]
        # The lane's next row is in another beat.
        done: Value = Const(1)
        if config.channel_lanes < beat_pairs:
            done = number >= beat_pairs - config.channel_lanes
        length, pointer = pair_of(self.beats.payload.data, number)
        m.d.comb += [
            block.clear.eq(self.clear),
            block.want.eq(self.rows.valid),
            block.next.eq(source.first),
            block.beat.eq(place[shift:]),
            block.discard.eq(~self.rows.valid),
            block.take.eq(block.here & found.i.ready),
            block.done.eq(done),
            found.clear.eq(self.clear),
            found.i.valid.eq(block.here),
            self.rows.ready.eq(block.take),
            row.row.eq(source.row),
            row.channel.eq(source.channel),
            row.last.eq(source.last),
            row.length.eq(length),
            row.pointer.eq(pointer),
        ]
        return m
