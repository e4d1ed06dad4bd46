"""Outer products: which rows of B a lane needs, and which entries of A they are multiplied by."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.matraptor import MatRaptorConfig
from ...stream.deep_queue import DeepQueue
from ..layouts import left_layout, outer_layout, row_layout

__all__ = ["OuterColumns", "lane_row"]


def lane_row(m: Module, config: MatRaptorConfig, row: Value, ends: Value, clear: Value) -> Value:
    """Returns the number of the lane's rows before a row.

    Parameters
    ----------
    row: the row, see :func:`row_layout`
    ends: the row has been seen; the next one follows
    clear: the next one is the lane's first
    """
    if config.lane_channels > 1:
        return row.index * config.lane_channels + row.slot
    # In its only channel the lane's rows come in order.
    number = Signal(config.index_bits, name="lane_row")
    with m.If(ends):
        m.d.sync += number.eq(number + 1)
    with m.If(clear):
        m.d.sync += number.eq(0)
    return number


class OuterColumns(wiring.Component):
    """Reads the lane's part of A by columns; requests row k of B once for each column k.

    Row ``k * lanes + lane`` of A as it is stored is the lane's part of column k, and its columns
    count the lane's rows of C. A column without entries requests nothing.

    Source: MatRaptor, sections on the outer product and on future work.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: the entries of A as they are stored, see :func:`left_layout`
    rows_in_lane: in; the lane's rows of C
    o: a token for each row of B, see :func:`left_layout`, and one that ends the lane
    columns: the entries of each of these columns, see :func:`outer_layout`
    clear: in; forgets everything at the end of the cycle
    index_error, error_row: out; an entry belongs to no row of the lane, and no ``clear`` since; the
        row of A as it is stored. The entry and what follows it is not taken
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(left_layout(config))),
                "rows_in_lane": In(32),
                "o": Out(stream.Signature(left_layout(config))),
                "columns": Out(stream.Signature(outer_layout(config))),
                "clear": In(1),
                "index_error": Out(1),
                "error_row": Out(row_layout(config)),
            }
        )

    @property
    def config(self) -> MatRaptorConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, token, asked = self._config, self.i.payload, self.o.payload
        m.submodules.queue = queue = DeepQueue(outer_layout(config), config.outstanding)
        wiring.connect(m, queue.o, wiring.flipped(self.columns))
        # Within a column an entry has come.
        within = Signal()
        closing = Signal()
        able = Signal()
        first = Signal()
        kept = Signal()
        moved = Signal()
        k = lane_row(m, config, token.row, moved & token.row_last, closing | self.clear)
        m.d.comb += [
            queue.clear.eq(self.clear),
            able.eq(self.i.valid & ~closing & ~self._foreign(m)),
            first.eq(token.present & ~within),
            kept.eq(token.present | within),
            queue.i.valid.eq(able & kept & (self.o.ready | ~first)),
            queue.i.payload.value.eq(token.value),
            queue.i.payload.target.eq(token.column),
            queue.i.payload.present.eq(token.present),
            queue.i.payload.last.eq(token.row_last),
            moved.eq(able & (queue.i.ready | ~kept) & (self.o.ready | ~first)),
            self.i.ready.eq(moved),
            self.o.valid.eq(closing | (able & first & queue.i.ready)),
            asked.present.eq(~closing),
            asked.column.eq(k),
            asked.row.eq(token.row),
            asked.row_last.eq(1),
            asked.lane_last.eq(closing),
        ]
        with m.If(moved):
            m.d.sync += within.eq(kept & ~token.row_last)
        with m.If(moved & token.lane_last):
            m.d.sync += closing.eq(1)
        with m.Elif(self.o.ready):
            m.d.sync += closing.eq(0)
        with m.If(self.clear):
            m.d.sync += [within.eq(0), closing.eq(0)]
        return m

    def _foreign(self, m: Module) -> Value:
        """Returns whether an entry that belongs to no row of the lane has arrived, or is at the
        input."""
        token = self.i.payload
        outside = Signal()
        m.d.comb += outside.eq(token.present & (token.column >= self.rows_in_lane))
        with m.If(self.i.valid & outside & ~self.index_error):
            m.d.sync += [self.index_error.eq(1), self.error_row.eq(token.row)]
        with m.If(self.clear):
            m.d.sync += self.index_error.eq(0)
        return outside | self.index_error
