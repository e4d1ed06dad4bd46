"""Reads the index of the matrix: row pointers of CSR, or pairs of C2SR."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import Supervision, beat_layout, routed_layout, supervise
from ..channels.array_readers import array_reader
from ..channels.stripe_walk import StripeWalk
from ..spec.c2sr_converter import C2srConverterConfig
from ..stream.stream_registers import SkidBuffer
from .found_rows import RowPointers, StripePairs, found_rows_layout


class IndexReader(wiring.Component):
    """Reads row pointers or pairs, and sends the rows in order.

    Members
    -------
    start: in, a pulse when ``idle``
    to_csr: in; pairs, not row pointers; constant from ``start`` on
    rows: in; of the matrix, at least 1; likewise
    base: in; flat address of the array; likewise
    o: see ``found_rows_layout``
    ar, r: the bus
    read_beat: out, a pulse: a beat has come over the bus
    stop, idle, error, error_address: see ``Supervision``
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        geometry, slot_bits = config.geometry, config.slot_bits
        request = routed_layout(geometry.addr_bits, geometry.channel_bits, slot_bits)
        beat = beat_layout(geometry.data_bits, slot_bits)
        super().__init__(
            {
                "start": In(1),
                "to_csr": In(1),
                "rows": In(32),
                "base": In(geometry.addr_bits),
                "o": Out(stream.Signature(found_rows_layout(config))),
                "ar": Out(stream.Signature(request)),
                "r": In(stream.Signature(beat, always_ready=True)),
                "read_beat": Out(1),
                **Supervision(geometry.addr_bits).members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.reader = reader = array_reader(config.geometry, config.outstanding)
        m.submodules.walk = walk = StripeWalk(config.geometry)
        m.submodules.asked = asked = SkidBuffer(walk.i.payload.shape(), clearable=True)
        # The crossbar's grants go no further back than here.
        m.submodules.requests = requests = SkidBuffer(
            reader.request.payload.shape(), clearable=True
        )
        # Behind the memory's access.
        m.submodules.read = read = SkidBuffer(reader.o.payload.shape(), clearable=True)
        m.submodules.pairs = pairs = StripePairs(config)
        m.submodules.pointers = pointers = RowPointers(config)
        wiring.connect(m, asked.o, walk.i)
        wiring.connect(m, walk.o, requests.i)
        wiring.connect(m, requests.o, reader.request)
        wiring.connect(m, reader.o, read.i)
        wiring.connect(m, reader.ar, wiring.flipped(self.ar))
        wiring.connect(m, wiring.flipped(self.r), reader.r)
        for used, part in ((self.to_csr, pairs), (~self.to_csr, pointers)):
            m.d.comb += [part.start.eq(self.start & used), part.rows.eq(self.rows)]
        with m.If(self.to_csr):
            self._find(m, pairs, read.o, asked)
        with m.Else():
            self._find(m, pointers, read.o, asked)
        busy = Signal()
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        with m.Elif(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(self.o.valid & self.o.ready & self.o.payload.last):
            m.d.sync += busy.eq(0)
        supervise(m, self, [reader], busy=busy)
        m.d.comb += [
            walk.base.eq(self.base),
            self.read_beat.eq(self.r.valid & self.r.ready),
        ]
        parts: list[Any] = [asked, walk, requests, read, pairs, pointers]
        for part in parts:
            m.d.comb += part.clear.eq(self.stop)
        return m

    def _find(
        self, m: Module, part: StripePairs | RowPointers, beats: Any, asked: SkidBuffer
    ) -> None:
        """Connects the component that finds the rows, while it is active."""
        for source, sink in ((part.spans, asked.i), (beats, part.beats), (part.o, self.o)):
            m.d.comb += [
                sink.valid.eq(source.valid),
                sink.payload.eq(source.payload),
                source.ready.eq(sink.ready),
            ]
