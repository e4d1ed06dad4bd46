"""Skips the entries of B outside a job's range of columns."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.matraptor import MatRaptorConfig
from ...stream.stream_registers import OutputRegister
from ..layouts import product_layout


class ColumnRange(wiring.Component):
    """Drops the products whose columns are outside a range, and marks those that are last then.

    A token a cycle, kept or skipped. Latency one cycle while ``enable`` is 0. Otherwise a product
    waits until the next entry in the range has come, or the end of the row of B: only then it is
    known whether it is the last one. A row of B of which nothing is left disappears, unless the
    row of A ends with it: that takes a token that is not ``present``.

    Members
    -------
    i, o: see ``product_layout``; a token of ``i`` that is not ``present`` ends a row of A
    enable: in; 0: everything passes. Constant, like the range, while tokens come
    first_column, end_column: in; the range's first column and the one after its last
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._layout = product_layout(config)
        super().__init__(
            {
                "i": In(stream.Signature(self._layout)),
                "o": Out(stream.Signature(self._layout)),
                "enable": In(1),
                "first_column": In(32),
                "end_column": In(33),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sent = sent = OutputRegister(self._layout, clearable=True)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        token = self.i.payload
        held = Signal(self._layout, reset_less=True)
        waits = Signal()
        # It is the last one of its row of B.
        closed = Signal(reset_less=True)
        inside = Signal()
        # The end of a row of A, of whose last row of B nothing is left.
        bare = Signal()
        taken = Signal()
        leaves = Signal()
        m.d.comb += [
            inside.eq(
                token.present
                & (token.column >= self.first_column)
                & (token.column < self.end_column)
            ),
            bare.eq(~inside & token.row_last & (~waits | closed)),
            # If the held one is not the last of its row, an entry inside is of the same row.
            leaves.eq(waits & (closed | (self.i.valid & inside))),
            sent.clear.eq(self.clear),
            sent.i.valid.eq(Mux(self.enable, leaves, self.i.valid)),
            sent.i.payload.eq(Mux(self.enable, held.as_value(), token.as_value())),
            # Not on the token, which arrives late.
            self.i.ready.eq(sent.i.ready | (self.enable & ~waits)),
            taken.eq(self.enable & self.i.valid & self.i.ready),
        ]
        with m.If(leaves & sent.i.ready):
            m.d.sync += waits.eq(0)
        with m.If(taken & (inside | bare)):
            m.d.sync += [
                waits.eq(1),
                held.eq(token),
                held.present.eq(inside),
                held.b_last.eq(inside & token.b_last),
                closed.eq(token.b_last | bare),
            ]
        with m.Elif(taken & token.b_last & waits & ~closed):
            m.d.sync += [
                closed.eq(1),
                held.b_last.eq(1),
                held.row_last.eq(token.row_last),
                held.lane_last.eq(token.lane_last),
            ]
        with m.If(self.clear):
            m.d.sync += waits.eq(0)
        return m
