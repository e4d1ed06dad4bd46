"""A lane: from its rows of A to its rows of C."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.interconnect import ReadInterconnect
from ..axi.layouts import beat_layout, routed_layout, store_layout
from ..channels.beat_packer import write_request_layout
from ..channels.c2sr_row_writer import WRITERS, C2srRowWriter
from ..spec.jobs.matraptor import job_spec
from ..spec.matraptor import READS, MatRaptorConfig
from ..stream.multiplex import bypass_unless
from .control import failure_layout
from .counters import EVENTS
from .layouts import job_layout
from .load.a_loader import SparseALoader
from .load.b_loader import SparseBLoader
from .merge.processing_element import ProcessingElement
from .outer.columns import OuterColumns

__all__ = ["Lane"]


class Lane(wiring.Component):
    """Computes its rows of C: one after the other, or in the outer-product mode all at once.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`

    Members
    -------
    job: the job; constant from ``start`` on
    lane: the lane's number, constant
    rows: how many rows of the job it has, constant like the job
    start: pulse: a job begins
    stop: level: drop everything
    ar, r: its readers, to and from the crossbar
    pair_request, pair_data, entry_request, entry_data: arrays of streams to burst writers, one for
        each of the lane's channels
    idle: its readers are owed nothing by the bus
    finished: all its rows are with the burst writers
    failure: see :func:`failure_layout`
    the members of ``EVENTS``: pulses, what happens
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        self._channel_bits = config.layout.channel_bits
        request = stream.Signature(write_request_layout(config.geometry))
        beat = stream.Signature(store_layout(config.data_bits))
        slots, id_bits = config.lane_channels, config.lane_id_bits
        reads = routed_layout(config.addr_bits, self._channel_bits, id_bits)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "lane": In(config.lane_bits),
                "rows": In(32),
                **{name: In(1) for name in ("start", "stop")},
                "ar": Out(stream.Signature(reads)),
                "r": In(
                    stream.Signature(beat_layout(config.data_bits, id_bits), always_ready=True)
                ),
                **{f"{name}_request": Out(request).array(slots) for name in WRITERS},
                **{f"{name}_data": Out(beat).array(slots) for name in WRITERS},
                **{name: Out(1) for name in ("idle", "finished")},
                "failure": Out(failure_layout(config)),
                **{name: Out(1) for name in EVENTS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.a_loader = a_loader = SparseALoader(config)
        m.submodules.b_loader = b_loader = SparseBLoader(config)
        m.submodules.processing_element = element = ProcessingElement(config)
        m.submodules.writer = writer = C2srRowWriter(
            config.geometry, config.layout, config.lane_map
        )
        wiring.connect(m, b_loader.o, element.i)
        wiring.connect(m, element.o, writer.i)
        for part in (a_loader, b_loader, element, writer):
            for name in ("job", "lane", "start", "stop"):
                if name in part.signature.members:
                    m.d.comb += getattr(part, name).eq(getattr(self, name))
        m.d.comb += [
            writer.pairs_base.eq(self.job.c_pairs),
            writer.entries_base.eq(self.job.c_entries),
            writer.capacity.eq(self.job.capacity),
        ]
        for name in WRITERS:
            for slot in range(config.lane_channels):
                for stream_name in (f"{name}_request", f"{name}_data"):
                    inner, outer = (getattr(x, stream_name)[slot] for x in (writer, self))
                    wiring.connect(m, inner, wiring.flipped(outer))
        causes: list[tuple[str, Value, dict[str, Value]]] = []
        if config.outer_product:
            causes = self._columns(m, a_loader, b_loader, element)
        else:
            wiring.connect(m, a_loader.o, b_loader.i)
            m.d.comb += a_loader.rows_in_lane.eq(self.rows)
        m.d.comb += [
            self.idle.eq(a_loader.idle & b_loader.idle),
            self.finished.eq(writer.finished | (self.rows == 0)),
            self.multiplied.eq(element.multiplied),
            self.merge_step.eq(element.merge_step),
            self.stored_row.eq(writer.stored_row),
            self.stored_entry.eq(writer.stored_entry),
        ]
        self._read(m, a_loader, b_loader)
        self._fail(m, a_loader, b_loader, element, writer, causes)
        return m

    def _columns(
        self,
        m: Module,
        a_loader: SparseALoader,
        b_loader: SparseBLoader,
        element: ProcessingElement,
    ) -> list[tuple[str, Value, dict[str, Value]]]:
        """Between the loaders, in the outer-product mode: A comes by columns; returns what may
        fail there.

        As it is stored, A has a row for each row of B and lane.
        """
        config, job, mode = self._config, self.job, self.job.mode
        m.submodules.columns = columns = OuterColumns(config)
        bypass_unless(m, mode, a_loader.o, (columns.i, columns.o), b_loader.i)
        wiring.connect(m, columns.columns, element.columns)
        stored_rows = Mux(self.rows != 0, job.b_rows, 0)
        m.d.comb += [
            columns.rows_in_lane.eq(self.rows),
            columns.clear.eq(self.stop),
            element.rows_in_lane.eq(self.rows),
            a_loader.rows_in_lane.eq(Mux(mode, stored_rows, self.rows)),
        ]
        if config.lane_channels > 1:
            m.d.comb += a_loader.job.rows.eq(Mux(mode, job.b_rows * config.lanes, job.rows))
        return [
            ("index", columns.index_error, {"row": columns.error_row}),
            ("index", element.index_error, {"row": element.error_row}),
        ]

    def _read(self, m: Module, a_loader: SparseALoader, b_loader: SparseBLoader) -> None:
        """The loaders' readers, in the order of ``READS``, as one."""
        config = self._config
        m.submodules.readers = readers = ReadInterconnect(
            len(READS),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            channel_bits=self._channel_bits,
            slot_bits=config.slot_bits,
        )
        wiring.connect(m, readers.ar, wiring.flipped(self.ar))
        wiring.connect(m, wiring.flipped(self.r), readers.r)
        for index, name in enumerate(READS):
            operand, what = name.split("_")
            loader: Any = {"a": a_loader, "b": b_loader}[operand]
            wiring.connect(m, getattr(loader, f"{what}_ar"), readers.reader_ar[index])
            wiring.connect(m, readers.reader_r[index], getattr(loader, f"{what}_r"))
            m.d.comb += getattr(self, name).eq(getattr(loader, f"read_beats_{what}"))

    def _fail(
        self,
        m: Module,
        a_loader: SparseALoader,
        b_loader: SparseBLoader,
        element: ProcessingElement,
        writer: C2srRowWriter,
        others: list[tuple[str, Value, dict[str, Value]]],
    ) -> None:
        """The first of the lane's errors, in the order of the codes."""
        failure, spec = self.failure, job_spec(self._config)
        causes = [
            ("bus_read", a_loader.error, {"address": a_loader.error_address}),
            ("bus_read", b_loader.error, {"address": b_loader.error_address}),
            ("index", b_loader.index_error, {"row": b_loader.index_row}),
            *others,
            ("unsorted", element.unsorted, {"row": element.error_row}),
            ("overflow", element.overflow, {"row": element.error_row}),
            ("region", writer.region, {"row": writer.region_row}),
        ]
        for error, holds, details in reversed(causes):
            with m.If(holds):
                m.d.comb += failure.code.eq(spec.code(error))
                m.d.comb += [failure[name].eq(detail) for name, detail in details.items()]
