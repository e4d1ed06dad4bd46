"""Reads, for each entry of A, the row of B that its column names."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...channels.array_readers import READERS, array_reader, connect_readers, reader_members
from ...channels.stripe_walk import StripeWalk
from ...spec.matraptor import MatRaptorConfig
from ...stream.deep_queue import DeepQueue
from ..layouts import job_layout, left_layout, product_layout, row_layout
from .row_lookup import RowLookup
from .row_products import RowProducts
from .row_spans import PairedRows, ProductRows, asked_row_layout, product_row_layout

__all__ = ["SparseBLoader"]

_WALKED = 4
"""Rows between a queue's beginning and the reader's slots."""


class SparseBLoader(wiring.Component):
    """Fetches the pair of row k of B for each (a, k), then the row, and sends a with each entry.

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
    pairs_ar, pairs_r, entries_ar, entries_r: the bus, for each reader
    read_beats_pairs, read_beats_entries: out; a beat has come over the bus
    stop: in, a pulse or longer; drops everything, from the next cycle on
    idle: out; nothing is inside (the lane's last token has left), the bus owes nothing
    error, error_address: out; a bad response has come and no ``stop`` since, and where
    index_error, index_row: out; an entry of A named a row that B does not have, and no ``stop``
        since; the entry's row. The entry and what follows it is not taken
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(stream.Signature(left_layout(config))),
                "o": Out(stream.Signature(product_layout(config))),
                **reader_members(config.geometry, config.outstanding),
                "index_error": Out(1),
                "index_row": Out(row_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        busy = Signal()
        readers = {name: array_reader(config.geometry, config.outstanding) for name in READERS}
        for name, reader in readers.items():
            m.submodules[f"{name}_reader"] = reader
        connect_readers(m, self, readers, busy)
        depth = config.outstanding + _WALKED
        m.submodules.lookup = lookup = RowLookup(config)
        m.submodules.pairs_walk = pairs_walk = StripeWalk(config.geometry)
        m.submodules.asked = asked = DeepQueue(asked_row_layout(config), depth)
        m.submodules.paired = paired = PairedRows(config)
        m.submodules.rows = rows = ProductRows(config)
        m.submodules.entries_walk = entries_walk = StripeWalk(config.geometry)
        m.submodules.waiting = waiting = DeepQueue(product_row_layout(config), depth)
        m.submodules.products = products = RowProducts(config)
        wiring.connect(m, lookup.spans, pairs_walk.i)
        wiring.connect(m, pairs_walk.o, readers["pairs"].request)
        wiring.connect(m, lookup.o, asked.i)
        wiring.connect(m, asked.o, paired.i)
        wiring.connect(m, readers["pairs"].o, paired.beats)
        wiring.connect(m, paired.o, rows.i)
        wiring.connect(m, rows.spans, entries_walk.i)
        wiring.connect(m, entries_walk.o, readers["entries"].request)
        wiring.connect(m, rows.o, waiting.i)
        wiring.connect(m, waiting.o, products.i)
        wiring.connect(m, readers["entries"].o, products.beats)
        wiring.connect(m, products.o, wiring.flipped(self.o))
        m.d.comb += [
            pairs_walk.base.eq(self.job.b_pairs),
            entries_walk.base.eq(self.job.b_entries),
        ]
        for part in (lookup, pairs_walk, asked, paired, entries_walk, waiting, products):
            m.d.comb += part.clear.eq(self.stop)
        self._take(m, lookup, busy)
        return m

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
