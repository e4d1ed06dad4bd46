"""The entries of rows, from whole blocks."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...channels.c2sr_words import entry_of, walked_place
from ...channels.held_block import HeldBlock
from ...spec.matraptor import MatRaptorConfig
from ...stream.output_register import OutputRegister
from ..layouts import left_layout
from .row_blocks import held_row_layout

__all__ = ["RowEntries"]


class RowEntries(wiring.Component):
    """Sends the entries of each row, or that it has none. Latency one cycle; a token a cycle, but
    for the beats of a block that no row wants.

    Members
    -------
    i: see ``held_row_layout``
    beats: whole blocks
    o: see ``left_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(held_row_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(left_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.block = block = HeldBlock(config.geometry)
        m.submodules.sent = sent = OutputRegister(left_layout(config), clearable=True)
        wiring.connect(m, wiring.flipped(self.beats), block.beats)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        row, token = self.i.payload, sent.i.payload
        shift = config.beat_entries.bit_length() - 1
        # After the first entry of a row, and after the lane's last row.
        within = Signal()
        after = Signal()
        next_left = Signal(len(row.length), reset_less=True)
        left = Signal(len(row.length))
        empty = Signal()
        ends = Signal()
        place = walked_place(m, row.place, within=within, moved=block.take)
        number = place[:shift]
        done = (number == config.beat_entries - 1) if shift else Const(1)
        value, column = entry_of(config.layout, self.beats.payload.data, number)
        m.d.comb += [
            left.eq(Mux(within, next_left, row.length)),
            empty.eq(~within & (row.length == 0)),
            ends.eq(empty | (left == 1)),
            block.clear.eq(self.clear),
            block.want.eq(self.i.valid & ~empty),
            block.next.eq(~within & ~row.held),
            block.beat.eq(place[shift:]),
            block.discard.eq(after & ~self.i.valid),
            block.take.eq(block.here & sent.i.ready),
            block.done.eq(done),
            sent.clear.eq(self.clear),
            sent.i.valid.eq(self.i.valid & (empty | block.here)),
            self.i.ready.eq(sent.i.valid & sent.i.ready & ends),
            token.value.eq(value),
            token.column.eq(column),
            token.present.eq(~empty),
            token.row_last.eq(ends),
            token.lane_last.eq(ends & row.last),
            token.row.eq(row.row),
        ]
        with m.If(block.take):
            m.d.sync += [within.eq(~ends), next_left.eq(left - 1)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += after.eq(row.last)
        with m.If(self.clear):
            m.d.sync += [within.eq(0), after.eq(0)]
        return m
