"""Reads a lane's rows of A."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.ordered_reader import OrderedReader
from ...channels.array_readers import READERS, array_reader, connect_readers, reader_members
from ...channels.stripe_walk import StripeWalk
from ...spec.matraptor import MatRaptorConfig
from ...stream.deep_queue import DeepQueue
from ..layouts import job_layout, left_layout
from ..row_walk import RowWalk
from .row_blocks import BlockRows, held_row_layout
from .row_entries import RowEntries
from .row_pairs import RowPairs

__all__ = ["SparseALoader"]


class SparseALoader(wiring.Component):
    """Walks the lane's rows, reads their pairs ahead, then their entries, and sends them on.

    Pairs and entries are read by whole blocks of the interleaving. A block of pairs is read once;
    a block of entries once for all rows that follow each other in the lane and, with ascending
    pointers, in the block. One token a cycle: over long rows always, over short ones as long as the
    ``outstanding`` rows that are read ahead last for the memory's latency.

    Source: MatRaptor, section on its architecture (SpAL).

    Members
    -------
    job: in; constant from ``start`` on
    lane, rows_in_lane: in; the lane's number and how many rows it has; constant like the job
    start: in, a pulse when ``idle``
    o: see ``left_layout``
    pairs_ar, pairs_r, entries_ar, entries_r: the bus, for each reader
    read_beats_pairs, read_beats_entries: out; a beat has come over the bus
    stop: in, a pulse or longer; drops everything, from the next cycle on
    idle: out; nothing is left to be done, the bus owes nothing
    error, error_address: out; a bad response has come and no ``stop`` since, and where
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "lane": In(config.lane_bits),
                "rows_in_lane": In(32),
                "start": In(1),
                "o": Out(stream.Signature(left_layout(config))),
                **reader_members(config.geometry, config.outstanding),
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
        m.submodules.pairs = pairs = RowPairs(config)
        m.submodules.rows = rows = BlockRows(config)
        m.submodules.waiting = waiting = DeepQueue(held_row_layout(config), config.outstanding)
        m.submodules.entries = entries = RowEntries(config)
        self._request_pairs(m, readers["pairs"])
        self._walk(m, "rows", pairs)
        m.submodules.entries_walk = walk = StripeWalk(config.geometry)
        wiring.connect(m, pairs.beats, readers["pairs"].o)
        wiring.connect(m, pairs.o, rows.i)
        wiring.connect(m, rows.spans, walk.i)
        wiring.connect(m, walk.o, readers["entries"].request)
        wiring.connect(m, rows.o, waiting.i)
        wiring.connect(m, waiting.o, entries.i)
        wiring.connect(m, entries.beats, readers["entries"].o)
        wiring.connect(m, entries.o, wiring.flipped(self.o))
        m.d.comb += walk.base.eq(self.job.a_entries)
        for part in (pairs, rows, waiting, entries, walk):
            m.d.comb += part.clear.eq(self.stop)
        with m.If(self.start):
            m.d.sync += busy.eq(self.rows_in_lane != 0)
        with m.Elif(self.o.valid & self.o.ready & self.o.payload.lane_last):
            m.d.sync += busy.eq(0)
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        return m

    def _walk(self, m: Module, name: str, pairs: RowPairs | None = None) -> RowWalk:
        """A walk over the lane's rows."""
        walk = RowWalk(self._config)
        m.submodules[f"{name}_walk"] = walk
        m.d.comb += [
            walk.start.eq(self.start),
            walk.clear.eq(self.stop),
            walk.lane.eq(self.lane),
            walk.rows.eq(self.job.rows),
            walk.rows_in_lane.eq(self.rows_in_lane),
        ]
        if pairs is not None:
            wiring.connect(m, walk.o, pairs.rows)
        return walk

    def _request_pairs(self, m: Module, reader: OrderedReader) -> None:
        """A block of pairs for each first row in one."""
        config = self._config
        walk = self._walk(m, "blocks")
        m.submodules.pairs_walk = spans = StripeWalk(config.geometry)
        wiring.connect(m, spans.o, reader.request)
        row, span = walk.o.payload, spans.i.payload
        m.d.comb += [
            spans.base.eq(self.job.a_pairs),
            spans.clear.eq(self.stop),
            spans.i.valid.eq(walk.o.valid & row.first),
            walk.o.ready.eq(~row.first | spans.i.ready),
            span.channel.eq(row.channel),
            span.block.eq(row.row.index.shift_right((config.layout.block_pairs - 1).bit_length())),
            span.beats.eq(config.burst_beats),
        ]
