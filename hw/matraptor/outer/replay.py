"""Outer products: a row of B, held on chip, with every entry of a column of A."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.matraptor import MatRaptorConfig
from ..layouts import direct_layout, entry_layout, outer_layout, product_layout, row_layout

__all__ = ["BUFFERS", "RowReplay"]

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
        self._config = config
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

    @property
    def config(self) -> MatRaptorConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = self._config.queue_depth
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
        depth, token = self._config.queue_depth, self.i.payload
        place = Signal(range(depth + 1))
        before = Signal(self._config.index_bits, reset_less=True)
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
        depth, entry, token = self._config.queue_depth, self.columns.payload, self.o.payload
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
                    "a": self._config.format.bits,
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
        shown = Signal(entry_layout(self._config))
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
