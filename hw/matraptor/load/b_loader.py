"""Reads, for each entry of A, the row of B that its column names."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...axi.ordered_reader import OrderedReader
from ...channels.array_readers import (
    READERS,
    array_reader,
    connect_readers,
    entry_of,
    entry_place,
    reader_members,
)
from ...channels.stripe_walk import FlatSpans, StripeWalk, span_layout
from ...spec.matraptor import MatRaptorConfig
from ...stream.fork_join import Fork, connect_fields
from ...stream.queue import DeepQueue
from ...stream.stream_registers import OutputRegister
from ..layouts import job_layout, left_layout, product_layout, row_layout
from .b_lookup import (
    PairedRows,
    PointerPairs,
    RowLookup,
    asked_row_layout,
    described_row_layout,
    row_of_b,
)
from .csr_rows import SplitProductRows, SplitRowProducts


def product_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """``a``, ``length`` of the row of B and the ``place`` of its first entry in its beat (no field
    if it has one entry); the rest as in ``product_layout``."""
    fields: dict[str, ShapeLike] = {"length": 32}
    if config.beat_entries > 1:
        fields["place"] = (config.beat_entries - 1).bit_length()
    return row_of_b(config, fields)


class ProductRows(wiring.Component):
    """Requests the beats of rows of B. One row per cycle, no latency.

    An empty row is dropped, unless the row of A ends with it.

    Members
    -------
    i: see :func:`described_row_layout`
    o: see :func:`product_row_layout`
    spans: see ``span_layout``; one for each row that is ``present``
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(described_row_layout(config))),
                "o": Out(stream.Signature(product_row_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        beat_bits = config.beat_entries.bit_length() - 1
        block_bits = (config.layout.block_entries - 1).bit_length()
        m.submodules.row_fork = fork = Fork(self.i.payload.shape(), 2)
        wiring.connect(m, wiring.flipped(self.i), fork.i)
        some = Signal()
        through = Signal(34)
        kept, asked = fork.o
        left, right = kept.payload, asked.payload
        place = right.pointer[:beat_bits] if beat_bits else Const(0, 1)
        m.d.comb += [
            some.eq(self.i.payload.present & (self.i.payload.length != 0)),
            fork.to.eq(Cat(some | self.i.payload.row_last, some)),
            through.eq(right.length + place + (config.beat_entries - 1)),
        ]
        row = {name: left[name] for name in ("a", "length", "row_last", "lane_last", "row")}
        if beat_bits:
            row["place"] = left.pointer[:beat_bits]
        connect_fields(m, kept, self.o, **row, present=some)
        span = {"channel": right.channel, "block": right.pointer[block_bits:]}
        if config.burst_beats > 1:
            span["beat"] = right.pointer[beat_bits:block_bits]
        connect_fields(m, asked, self.spans, **span, beats=through[beat_bits:])
        return m


class RowProducts(wiring.Component):
    """Sends the entries of each row of B with the entry of A. No latency; one token per cycle.

    Members
    -------
    i: see ``product_row_layout``
    beats: those of each row that is ``present``
    o: see ``product_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(product_row_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(product_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        row, token = self.i.payload, self.o.payload
        # After the first entry of a row.
        within = Signal()
        next_left = Signal(len(row.length), reset_less=True)
        left = Signal(len(row.length))
        ends = Signal()
        moved = Signal()
        number, beat_done = entry_place(m, config.beat_entries, row, within=within, moved=moved)
        value, column = entry_of(config.layout, self.beats.payload.data, number)
        m.d.comb += [
            left.eq(Mux(within, next_left, row.length)),
            ends.eq(~row.present | (left == 1)),
            self.o.valid.eq(self.i.valid & (self.beats.valid | ~row.present)),
            moved.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(moved & ends),
            self.beats.ready.eq(moved & row.present & (ends | beat_done)),
            token.a.eq(row.a),
            token.b.eq(value),
            token.column.eq(column),
            token.b_last.eq(ends & row.present),
            token.present.eq(row.present),
            token.row_last.eq(ends & row.row_last),
            token.lane_last.eq(ends & row.lane_last),
            token.row.eq(row.row),
        ]
        with m.If(moved):
            m.d.sync += [within.eq(~ends), next_left.eq(left - 1)]
        with m.If(self.clear):
            m.d.sync += within.eq(0)
        return m


class ColumnRange(wiring.Component):
    """Drops the products whose columns are outside a range, and marks those that are last then.

    A token a cycle, kept or skipped. Latency one cycle while ``enable`` is 0. Otherwise two, for
    the entries come late, from memory; and a product waits until the next entry in the range has
    come, or the end of the row of B: only then it is known whether it is the last one. A row of B
    of which nothing is left disappears, unless the row of A ends with it: that takes a token that
    is not ``present``.

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
        m.submodules.came = came = OutputRegister(self._layout, clearable=True)
        token = came.o.payload
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
            leaves.eq(waits & (closed | (came.o.valid & inside))),
            came.clear.eq(self.clear),
            came.i.valid.eq(self.i.valid & self.enable),
            came.i.payload.eq(self.i.payload),
            came.o.ready.eq(sent.i.ready | ~waits),
            sent.clear.eq(self.clear),
            sent.i.valid.eq(Mux(self.enable, leaves, self.i.valid)),
            sent.i.payload.eq(Mux(self.enable, held.as_value(), self.i.payload.as_value())),
            self.i.ready.eq(Mux(self.enable, came.i.ready, sent.i.ready)),
            taken.eq(came.o.valid & came.o.ready),
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


_WALKED = 4
"""Rows between a queue's beginning and the reader's slots."""


class SparseBLoader(wiring.Component):
    """Fetches the pair of row k of B for each (a, k), then the row, and sends a with each entry.

    A row of B is read whole. Of a job with a range of columns the entries outside it are not sent.
    With B in CSR the pair is made of two pointers, and blocks of entries follow each other from
    channel to channel.

    Pairs and entries are read by the beats that they are in, bursts ending at the blocks of
    the interleaving. One product a cycle, rows of one entry included, if each reader has a bus of
    its own and as long as ``outstanding`` pairs and ``outstanding`` bursts of entries last for the
    memory's latency. In a lane :class:`ReadInterconnect` lets its four readers share one request
    and one beat a cycle, so that each product of such a row costs two of them. An empty row of B
    takes a cycle in which no product comes.

    Source: MatRaptor, section on its architecture (SpBL).

    Members
    -------
    job: in; constant while tokens come
    i: see ``left_layout``
    o: see ``product_layout``
    pairs_ar, pairs_r, entries_ar, entries_r: the bus, for each reader (``csr``: also values_*)
    read_beats_pairs, read_beats_entries: out; a beat has come over the bus
    stop: in, a pulse or longer; drops everything, from the next cycle on
    idle: out; nothing is inside (the lane's last token has left), the bus owes nothing
    error, error_address: out; a bad response has come and no ``stop`` since, and where
    index_error, index_row: out; an entry of A named a row that B does not have, and no ``stop``
        since; the entry's row. The entry and what follows it is not taken
    pointers_error, pointers_row: (``csr``) out; likewise, of a row of B whose pointers descend
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        names = (*READERS, "values") if config.csr else READERS
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(stream.Signature(left_layout(config))),
                "o": Out(stream.Signature(product_layout(config))),
                **reader_members(config.geometry, config.outstanding, names),
                "index_error": Out(1),
                "index_row": Out(row_layout(config)),
                **(
                    {"pointers_error": Out(1), "pointers_row": Out(row_layout(config))}
                    if config.csr
                    else {}
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        busy = Signal()
        # A pair is in one beat, two pointers in up to two of a block.
        most = min(1 + config.csr, config.burst_beats)
        readers = {
            "pairs": array_reader(config.geometry, config.outstanding, beats=most),
            "entries": array_reader(config.geometry, config.outstanding),
        }
        if config.csr:
            readers["values"] = array_reader(config.geometry, config.outstanding)
        for name, reader in readers.items():
            m.submodules[f"{name}_reader"] = reader
        connect_readers(m, self, readers, busy)
        depth = config.outstanding + _WALKED
        m.submodules.lookup = lookup = RowLookup(config)
        m.submodules.pairs_walk = pairs_walk = StripeWalk(
            config.geometry, skid=True, flat=config.csr
        )
        m.submodules.asked = asked = DeepQueue(asked_row_layout(config), depth, register=True)
        m.submodules.paired = paired = PairedRows(config)
        rows: Any = SplitProductRows(config) if config.csr else ProductRows(config)
        products: Any = SplitRowProducts(config) if config.csr else RowProducts(config)
        m.submodules.rows = rows
        m.submodules.entries_walk = entries_walk = StripeWalk(
            config.geometry, skid=True, flat=config.csr
        )
        m.submodules.waiting = waiting = DeepQueue(rows.o.payload.shape(), depth, register=True)
        m.submodules.products = products
        wiring.connect(m, lookup.spans, pairs_walk.i)
        wiring.connect(m, pairs_walk.o, readers["pairs"].request)
        wiring.connect(m, lookup.o, asked.i)
        wiring.connect(m, asked.o, paired.i)
        wiring.connect(m, paired.o, rows.i)
        if config.csr:
            self._connect_csr(m, readers, lookup, asked, paired)
            self._connect_values(m, readers["values"], rows, products)
        else:
            wiring.connect(m, readers["pairs"].o, paired.beats)
            wiring.connect(m, rows.spans, entries_walk.i)
        wiring.connect(m, entries_walk.o, readers["entries"].request)
        wiring.connect(m, rows.o, waiting.i)
        wiring.connect(m, waiting.o, products.i)
        wiring.connect(m, readers["entries"].o, products.beats)
        m.submodules.columns = columns = ColumnRange(config)
        wiring.connect(m, products.o, columns.i)
        wiring.connect(m, columns.o, wiring.flipped(self.o))
        m.d.comb += [
            columns.enable.eq(self.job.ranged),
            columns.first_column.eq(self.job.first_column),
            columns.end_column.eq(self.job.end_column),
            pairs_walk.base.eq(self.job.b_pairs),
            entries_walk.base.eq(self.job.b_entries),
        ]
        for part in (lookup, pairs_walk, asked, paired, entries_walk, waiting, products, columns):
            m.d.comb += part.clear.eq(self.stop)
        self._take(m, lookup, busy)
        return m

    def _connect_csr(
        self,
        m: Module,
        readers: dict[str, OrderedReader],
        lookup: RowLookup,
        asked: DeepQueue,
        paired: PairedRows,
    ) -> None:
        """The parts that B in CSR needs between those of C2SR."""
        config, csr = self._config, self.job.b_format.any()
        m.submodules.pointers = pointers = PointerPairs(config)
        m.submodules.flat_spans = flat = FlatSpans(config.geometry)
        wiring.connect(m, readers["pairs"].o, pointers.beats)
        wiring.connect(m, pointers.o, paired.beats)
        wiring.connect(m, m.submodules.rows.spans, flat.i)
        wiring.connect(m, flat.o, m.submodules.entries_walk.i)
        row = asked.o.payload
        m.d.comb += [
            pointers.wanted.eq(asked.o.valid & row.present),
            pointers.number.eq(row.pointer),
            pointers.row.eq(row.row),
            self.pointers_error.eq(pointers.error),
            self.pointers_row.eq(pointers.error_row),
            *(part.clear.eq(self.stop) for part in (pointers, flat)),
            *(part.enable.eq(csr) for part in (pointers, flat)),
            *(part.csr.eq(csr) for part in (lookup, paired)),
            *(m.submodules[f"{name}_walk"].consecutive.eq(csr) for name in ("pairs", "entries")),
        ]

    def _connect_values(self, m: Module, reader: OrderedReader, rows: Any, products: Any) -> None:
        """The reader of values that are apart from columns."""
        geometry, split = self._config.geometry, self.job.b_format[1]
        m.submodules.value_spans = flat = FlatSpans(geometry)
        m.submodules.values_walk = walk = StripeWalk(geometry, skid=True, flat=True)
        wiring.connect(m, rows.value_spans, flat.i)
        wiring.connect(m, flat.o, walk.i)
        wiring.connect(m, walk.o, reader.request)
        wiring.connect(m, reader.o, products.values)
        m.d.comb += [
            walk.base.eq(self.job.b_values),
            walk.consecutive.eq(1),
            flat.enable.eq(1),
            rows.split.eq(split),
            products.split.eq(split),
            *(part.clear.eq(self.stop) for part in (flat, walk)),
        ]

    def _take(self, m: Module, lookup: RowLookup, busy: Signal) -> None:
        """Tokens of A, up to one that names a row that does not exist."""
        token = self.i.payload
        bad = Signal()
        m.d.comb += [
            bad.eq(token.present & (token.column >= self.job.b_rows)),
            lookup.i.valid.eq(self.i.valid & ~bad & ~self.index_error),
            lookup.i.payload.eq(token),
            self.i.ready.eq(lookup.i.ready & ~bad & ~self.index_error),
        ]
        with m.If(self.i.valid & bad & ~self.index_error):
            m.d.sync += [self.index_error.eq(1), self.index_row.eq(token.row)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += busy.eq(1)
        with m.Elif(self.o.valid & self.o.ready & self.o.payload.lane_last):
            m.d.sync += busy.eq(0)
        with m.If(self.stop):
            m.d.sync += [self.index_error.eq(0), busy.eq(0)]
