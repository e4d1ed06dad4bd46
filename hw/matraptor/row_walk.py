"""The rows of a lane, in the order in which it computes them."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..channels.c2sr_row_writer import lane_channel, lane_share
from ..spec.matraptor import MatRaptorConfig
from .layouts import row_layout

__all__ = ["RowWalk", "walk_layout"]

COUNT_BITS = 32


def walk_layout(config: MatRaptorConfig) -> data.StructLayout:
    """A row, its ``channel``, whether it is the ``first`` of the lane in its block of pairs, and
    whether it is the ``last`` of the lane."""
    return data.StructLayout(
        {"row": row_layout(config), "channel": config.layout.channel_bits, "first": 1, "last": 1}
    )


class RowWalk(wiring.Component):
    """Walks the rows whose number modulo the number of lanes is the lane's.

    They come by blocks of pairs: of a block, the lane's channels in turn; of a channel, its rows
    in order. One row a cycle, the first in the cycle after ``start``.

    Source: MatRaptor, section on the sparse matrix format.

    Members
    -------
    start: in, a pulse while no row is left
    clear: in; forgets all rows at the end of the cycle
    lane: in; the lane's number
    rows, rows_in_lane: in; of the matrix, and those of them that are the lane's; constant
    o: see :func:`walk_layout`
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "clear": In(1),
                "lane": In(config.lane_bits),
                "rows": In(COUNT_BITS),
                "rows_in_lane": In(COUNT_BITS),
                "o": Out(stream.Signature(walk_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(COUNT_BITS)
        moved = Signal()
        row = self.o.payload
        m.d.comb += [
            self.o.valid.eq(left != 0),
            moved.eq(self.o.valid & self.o.ready),
            row.last.eq(left == 1),
        ]
        with m.If(self.start):
            m.d.sync += left.eq(self.rows_in_lane)
        with m.Elif(moved):
            m.d.sync += left.eq(left - 1)
        with m.If(self.clear):
            m.d.sync += left.eq(0)
        if self._config.lane_channels == 1:
            self._walk_channel(m, moved)
        else:
            self._walk_channels(m, moved)
        return m

    def _walk_channel(self, m: Module, moved: Value) -> None:
        """All rows in one channel, which other lanes may share."""
        config, row = self._config, self.o.payload
        index = Signal(config.index_bits, reset_less=True)
        following = Signal(config.index_bits)
        first = Signal(reset_less=True)
        block = (config.layout.block_pairs - 1).bit_length()
        m.d.comb += [
            following.eq(index + config.channel_lanes),
            row.row.index.eq(index),
            row.first.eq(first),
            row.channel.eq(lane_channel(config.lane_map, self.lane, row.row)),
        ]
        with m.If(self.start):
            m.d.sync += [index.eq(lane_share(config.lane_map, self.lane)), first.eq(1)]
        with m.Elif(moved):
            m.d.sync += [index.eq(following), first.eq(index[block:] != following[block:])]

    def _walk_channels(self, m: Module, moved: Value) -> None:
        """Walks rows in several channels, each of which belongs to the lane alone."""
        config, row = self._config, self.o.payload
        block = (config.layout.block_pairs - 1).bit_length()
        # The row's number, with room beyond the last one for the block that would be next.
        bits = COUNT_BITS + 1 + (config.layout.block_pairs * config.channels).bit_length()
        index = Signal(config.index_bits, reset_less=True)
        slot = Signal((config.lane_channels - 1).bit_length(), reset_less=True)
        channel = Signal(len(row.channel), reset_less=True)
        number = Signal(bits, reset_less=True)
        first_number = Signal(bits, reset_less=True)
        beyond = Signal(bits)
        other = Signal(bits)
        block_ends = Signal()
        last_slot = Signal()
        step = (config.layout.block_pairs - 1) * config.channels + config.lanes
        m.d.comb += [
            row.row.index.eq(index),
            row.row.slot.eq(slot),
            row.channel.eq(channel),
            row.first.eq(index[:block] == 0),
            beyond.eq(number + config.channels),
            block_ends.eq(index[:block].all() | (beyond >= self.rows)),
            last_slot.eq(slot == config.lane_channels - 1),
            other.eq(first_number + Mux(last_slot, step, config.lanes)),
        ]
        with m.If(self.start):
            m.d.sync += [index.eq(0), slot.eq(0), channel.eq(self.lane)]
            m.d.sync += [number.eq(self.lane), first_number.eq(self.lane)]
        with m.Elif(moved & block_ends):
            begun = Cat(Const(0, block), index[block:] + last_slot)
            m.d.sync += [index.eq(begun), number.eq(other), first_number.eq(other)]
            with m.If(last_slot):
                m.d.sync += [slot.eq(0), channel.eq(self.lane)]
            with m.Else():
                m.d.sync += [slot.eq(slot + 1), channel.eq(channel + config.lanes)]
        with m.Elif(moved):
            m.d.sync += [index.eq(index + 1), number.eq(beyond)]
