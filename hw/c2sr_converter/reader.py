"""Reads a matrix in CSR or in C2SR, row by row."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.ordered_reader import OrderedReader
from ..channels.array_readers import READERS, array_reader, connect_readers, reader_members
from ..channels.stripe_walk import StripeWalk
from ..spec.c2sr_converter import C2srConverterConfig
from ..stream.deep_queue import DeepQueue
from .entries import SharedEntries
from .layouts import converter_job_layout, entry_token_layout
from .row_pairs import StripePairs
from .row_pointers import RowPointers
from .row_spans import RowSpans, asked_span_layout

__all__ = ["ConverterReader"]

_AHEAD = 4
_LEAST_AHEAD = 64
"""Rows ahead of the entries that are sent, for each burst under way and at least: where rows are
short, the next block of CSR's entries is asked for when a row that ends there is found."""


class ConverterReader(wiring.Component):
    """Finds the rows, in their order, and sends their entries.

    In C2SR it reads the beats that the rows are in, in CSR whole blocks. One token a cycle, rows of
    one entry included, as long as the bursts under way last for the memory's latency.

    Members
    -------
    job: in; constant from ``start`` on
    start: in, a pulse when ``idle``
    o: see ``entry_token_layout``
    pairs_ar, pairs_r, entries_ar, entries_r: the bus, for each reader; row pointers are read by
        that of the pairs
    read_beats_pairs, read_beats_entries: out; a beat has come over the bus
    stop: in, a pulse or longer; drops everything, from the next cycle on
    idle: out; nothing is left to be done, the bus owes nothing
    error, error_address: out; a bad response has come and no ``stop`` since, and where
    unsorted, unsorted_row: out; row pointers do not ascend, until ``stop``, and of which row
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(converter_job_layout(config)),
                "start": In(1),
                "o": Out(stream.Signature(entry_token_layout(config))),
                **reader_members(config.geometry, config.outstanding),
                "unsorted": Out(1),
                "unsorted_row": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        busy = Signal()
        readers = {name: array_reader(config.geometry, config.outstanding) for name in READERS}
        walks = {name: StripeWalk(config.geometry) for name in READERS}
        for name, reader in readers.items():
            m.submodules[f"{name}_reader"] = reader
            m.submodules[f"{name}_walk"] = walks[name]
            wiring.connect(m, walks[name].o, reader.request)
        connect_readers(m, self, readers, busy)
        m.submodules.pairs = pairs = StripePairs(config)
        m.submodules.pointers = pointers = RowPointers(config)
        m.submodules.spans = spans = RowSpans(config)
        depth = max(_AHEAD * config.outstanding, _LEAST_AHEAD)
        m.submodules.waiting = waiting = DeepQueue(asked_span_layout(config), depth)
        m.submodules.entries = entries = SharedEntries(config)
        wiring.connect(m, spans.spans, walks["entries"].i)
        wiring.connect(m, spans.o, waiting.i)
        wiring.connect(m, waiting.o, entries.i)
        wiring.connect(m, readers["entries"].o, entries.beats)
        wiring.connect(m, entries.o, wiring.flipped(self.o))
        flat = ~self.job.mode
        for used, rows in ((self.job.mode, pairs), (flat, pointers)):
            m.d.comb += [rows.start.eq(self.start & used), rows.rows.eq(self.job.rows)]
        with m.If(self.job.mode):
            self._find(m, pairs, readers, walks, spans)
        with m.Else():
            self._find(m, pointers, readers, walks, spans)
        m.d.comb += [
            walks["pairs"].base.eq(Mux(flat, self.job.csr_pointers, self.job.c2sr_pairs)),
            walks["entries"].base.eq(Mux(flat, self.job.csr_entries, self.job.c2sr_entries)),
            spans.flat.eq(flat),
            spans.start.eq(self.start),
            entries.start.eq(self.start),
            self.unsorted.eq(pointers.unsorted),
            self.unsorted_row.eq(pointers.unsorted_row),
        ]
        parts: list[Any] = [*walks.values(), pairs, pointers, spans, waiting, entries]
        for part in parts:
            m.d.comb += part.clear.eq(self.stop)
        with m.If(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(self.o.valid & self.o.ready & self.o.payload.last):
            m.d.sync += busy.eq(0)
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        return m

    @staticmethod
    def _find(
        m: Module,
        rows: StripePairs | RowPointers,
        readers: dict[str, OrderedReader],
        walks: dict[str, StripeWalk],
        spans: RowSpans,
    ) -> None:
        """Connect what finds the rows, while it does."""
        streams = (
            (rows.spans, walks["pairs"].i),
            (readers["pairs"].o, rows.beats),
            (rows.o, spans.i),
        )
        for source, sink in streams:
            m.d.comb += [
                sink.valid.eq(source.valid),
                sink.payload.eq(source.payload),
                source.ready.eq(sink.ready),
            ]
