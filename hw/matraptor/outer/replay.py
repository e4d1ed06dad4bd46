"""Outer products: a row of B, held on chip, with every entry of a column of A."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.matraptor import MatRaptorConfig
from ...stream.queue import DeepQueue
from ..layouts import (
    direct_layout,
    entry_layout,
    left_layout,
    outer_layout,
    product_layout,
    row_layout,
)


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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, token, asked = self.config, self.i.payload, self.o.payload
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


BUFFERS = 2


class RowReplay(wiring.Component):
    """Stores rows of B in two memories, and sends each once for every entry of its column of A.

    While a row is sent from one memory, the next one comes into the other. A product a cycle, as
    long as rows come in time; a column without a row takes a cycle an entry.

    Source: MatRaptor, sections on the outer product and on future work.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: rows of B, see :func:`product_layout`; ``a`` does not count
    columns: an entry of A for each time that a row is sent, see :func:`outer_layout`
    last_column: in; of B
    o: pairs of values, see :func:`product_layout`; a token that is not ``present`` ends the lane
    memories: out; what the two memories do, see :func:`direct_layout`
    heads: in; what they have read
    clear: in; forgets everything at the end of the cycle
    index_error, unsorted: out; a column of a row of B lies behind the last one, or not behind that
        before it, and no ``clear`` since. The entry and what follows it is not taken
    error_row: out; with an error, the row of A as it is stored
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        tokens = stream.Signature(product_layout(config))
        super().__init__(
            {
                "i": In(tokens),
                "columns": In(stream.Signature(outer_layout(config))),
                "last_column": In(range(config.queue_depth)),
                "o": Out(tokens),
                "memories": Out(data.ArrayLayout(direct_layout(config), BUFFERS)),
                "heads": In(data.ArrayLayout(entry_layout(config), BUFFERS)),
                "clear": In(1),
                "index_error": Out(1),
                "unsorted": Out(1),
                "error_row": Out(row_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = self.config.queue_depth
        # State of each memory: it holds a row, the row's entries, and the row only ends the
        # lane.
        full = Signal(BUFFERS)
        lengths = Signal(data.ArrayLayout(range(depth + 1), BUFFERS), reset_less=True)
        ends_lane = Signal(BUFFERS, reset_less=True)
        stored = Signal()
        sent = Signal()
        filling = Signal()
        sending = Signal()
        length = self._store(m, Mux(filling, full[1], full[0]), filling, stored)
        self._send(
            m,
            Mux(sending, full[1], full[0]),
            sending,
            sent,
            length=Mux(sending, lengths[1], lengths[0]),
            ends_lane=Mux(sending, ends_lane[1], ends_lane[0]),
        )
        for n in range(BUFFERS):
            with m.If(stored & (filling == n)):
                m.d.sync += [
                    full[n].eq(1),
                    lengths[n].eq(length),
                    ends_lane[n].eq(self.i.payload.lane_last),
                ]
            with m.Elif(sent & (sending == n)):
                m.d.sync += full[n].eq(0)
        m.d.sync += [filling.eq(filling ^ stored), sending.eq(sending ^ sent)]
        with m.If(self.clear):
            m.d.sync += [full.eq(0), filling.eq(0), sending.eq(0)]
        return m

    def _store(self, m: Module, full: Value, filling: Value, stored: Value) -> Value:
        """A token of a row a cycle; returns the row's length, valid with its last token."""
        depth, token = self.config.queue_depth, self.i.payload
        place = Signal(range(depth + 1))
        before = Signal(self.config.index_bits, reset_less=True)
        failed = Signal()
        behind = Signal()
        descends = Signal()
        able = Signal()
        m.d.comb += [
            failed.eq(self.index_error | self.unsorted),
            behind.eq(token.present & (token.column > self.last_column)),
            descends.eq(token.present & (place != 0) & (token.column <= before)),
            able.eq(self.i.valid & ~full & ~failed),
            self.i.ready.eq(able & ~behind & ~descends),
            stored.eq(self.i.ready & token.row_last),
        ]
        for n, memory in enumerate(self.memories):
            m.d.comb += [
                memory.write.eq(self.i.ready & token.present & (filling == n)),
                memory.write_address.eq(place),
                memory.entry.value.eq(token.b),
                memory.entry.column.eq(token.column),
            ]
        with m.If(able & (behind | descends)):
            m.d.sync += [
                self.index_error.eq(behind),
                self.unsorted.eq(~behind),
                self.error_row.eq(token.row),
            ]
        with m.If(self.i.ready):
            m.d.sync += [place.eq(Mux(token.row_last, 0, place + 1)), before.eq(token.column)]
        with m.If(self.clear):
            m.d.sync += [place.eq(0), self.index_error.eq(0), self.unsorted.eq(0)]
        return place + token.present

    def _send(
        self,
        m: Module,
        full: Value,
        sending: Value,
        sent: Value,
        *,
        length: Value,
        ends_lane: Value,
    ) -> None:
        """Reads an entry of the row a cycle, and sends it in the next."""
        depth, entry, token = self.config.queue_depth, self.columns.payload, self.o.payload
        place = Signal(range(depth))
        valid = Signal()
        advance = Signal()
        reads = Signal()
        pass_ends = Signal()
        m.d.comb += [
            advance.eq(self.o.ready | ~valid),
            # Entries that find no row are passed over.
            reads.eq(full & ~ends_lane & self.columns.valid & entry.present & (length != 0)),
            pass_ends.eq(~reads | (place + 1 == length)),
            self.columns.ready.eq(full & ~ends_lane & advance & pass_ends),
            sent.eq(
                advance
                & full
                & (ends_lane | (self.columns.valid & self.columns.ready & entry.last))
            ),
            self.o.valid.eq(valid),
        ]
        for n, memory in enumerate(self.memories):
            m.d.comb += [
                memory.read.eq(reads & advance & (sending == n)),
                memory.read_address.eq(place),
            ]
        beside = Signal(
            data.StructLayout(
                {
                    "a": self.config.format.bits,
                    "target": token.target.shape(),
                    "memory": 1,
                    "b_last": 1,
                    "present": 1,
                }
            ),
            reset_less=True,
        )
        with m.If(advance):
            m.d.sync += [
                valid.eq(reads | (full & ends_lane)),
                beside.a.eq(entry.value),
                beside.target.eq(entry.target),
                beside.memory.eq(sending),
                beside.b_last.eq(pass_ends),
                beside.present.eq(~ends_lane),
            ]
        with m.If(reads & advance):
            m.d.sync += place.eq(Mux(pass_ends, 0, place + 1))
        with m.If(self.clear):
            m.d.sync += [place.eq(0), valid.eq(0)]
        head = Mux(beside.memory, self.heads[1].as_value(), self.heads[0].as_value())
        shown = Signal(entry_layout(self.config))
        m.d.comb += [
            shown.eq(head),
            token.a.eq(beside.a),
            token.b.eq(shown.value),
            token.column.eq(shown.column),
            token.target.eq(beside.target),
            token.b_last.eq(beside.b_last),
            token.present.eq(beside.present),
            token.row_last.eq(~beside.present),
            token.lane_last.eq(~beside.present),
        ]
