"""From a sparse matrix by rows in memory to the elements of a panel."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.supervision import Supervision, supervise
from ...spec.sida import INDEX_BITS, SidaConfig
from ..held.layouts import reload_layout, reload_request_layout
from ..layouts import count_bits
from .array_bus import bus_id_bits, bus_members, connect_bus
from .array_slice import ArraySlice
from .layouts import rows_job_layout
from .row_cut import RowCut
from .row_elements import RowElements
from .row_lengths import RowLengths

__all__ = ["ROW_ARRAYS", "RowLoader"]

ROW_ARRAYS = ("pointers", "columns", "values")
"""What is read, in the order of the readers' IDs."""

_INDEX_BYTES = INDEX_BITS // 8


class RowLoader(wiring.Component):
    """Reads panels of a matrix by rows (CSR), ``subtensor`` rows each, as they are asked for: a
    panel's pointers, then its columns and values side by side.

    A row a cycle if the channels deliver it, of a row with more than ``pes`` elements so many.
    Element n of the matrix is in place ``n % pes`` of its transfer; a row's elements begin
    anywhere and go on, behind the last place, with the first. Nothing of a panel is read before
    the last transfer of the one before was taken.

    An ID of the bus is the number of the array (see ``ROW_ARRAYS``) above the reader's own.

    Source: Exploiting data reuse with inter-operator dataflow, the SIDA microarchitecture (CSR
    loader).

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    job: see ``rows_job_layout``; constant from the first request on
    request: stream, see ``reload_request_layout``; of a panel that has rows
    o: stream, see ``reload_layout``; rows ascending, without those of which nothing is wanted;
        a panel's last transfer may be without elements
    pointer_error, column_error, order_error, error_row: see :class:`RowElements`; until ``stop``.
        What is wrong does not leave, nor anything behind it
    read_beats: out; by array, channels that bring it a beat
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle``: a request may come, and what
        was asked for before has gone
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(rows_job_layout(config)),
                "request": In(stream.Signature(reload_request_layout(config))),
                "o": Out(stream.Signature(reload_layout(config))),
                "pointer_error": Out(1),
                "column_error": Out(1),
                "order_error": Out(1),
                "error_row": Out(config.place_bits),
                **bus_members(config, ROW_ARRAYS),
                **Supervision(config.addr_bits).members,
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    @property
    def id_bits(self) -> int:
        """Width of an ID of the bus."""
        return bus_id_bits(self._config, len(ROW_ARRAYS))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        half = max(2, config.outstanding // 2)
        readers = {
            "pointers": ArraySlice(config, _INDEX_BYTES, outstanding=max(2, half // 2)),
            "columns": ArraySlice(config, _INDEX_BYTES, outstanding=half),
            "values": ArraySlice(config, config.format.bits // 8, outstanding=half),
        }
        for name, reader in readers.items():
            m.submodules[f"{name}_slice"] = reader
        m.submodules.lengths = lengths = RowLengths(config)
        m.submodules.cut = cut = RowCut(config)
        m.submodules.elements = elements = RowElements(config)
        wiring.connect(m, readers["pointers"].o, lengths.i)
        wiring.connect(m, cut.o, elements.i)
        wiring.connect(m, elements.o, wiring.flipped(self.o))
        columns, values = readers["columns"].o, readers["values"].o
        m.d.comb += [
            cut.clear.eq(self.stop),
            elements.clear.eq(self.stop),
            elements.rows.eq(self.job.rows),
            cut.blocks.valid.eq(columns.valid & values.valid),
            columns.ready.eq(cut.blocks.ready & values.valid),
            values.ready.eq(cut.blocks.ready & columns.valid),
            cut.blocks.payload.columns.eq(columns.payload.data),
            cut.blocks.payload.values.eq(values.payload.data),
        ]
        for name in ("pointer_error", "column_error", "order_error", "error_row"):
            m.d.comb += getattr(self, name).eq(getattr(elements, name))
        busy = self._control(m, readers, lengths, cut, elements)
        supervise(m, self, list(readers.values()), busy=busy)
        connect_bus(m, config, self, readers)
        return m

    def _control(
        self,
        m: Module,
        readers: dict[str, ArraySlice],
        lengths: RowLengths,
        cut: RowCut,
        elements: RowElements,
    ) -> Signal:
        """One panel at a time. Returns whether there is one."""
        config, job, asked = self._config, self.job, self.request.payload
        busy = Signal()
        row = Signal(config.place_bits)
        rows = Signal(range(config.subtensor + 1))
        columns = Signal(count_bits(config))
        left = Signal(count_bits(config))
        opens = Signal()
        asks = Signal(2)
        step = config.subtensor
        m.d.comb += [
            self.request.ready.eq(~busy & ~self.stop),
            left.eq(job.rows - row),
            elements.columns.eq(columns),
            elements.row.eq(row),
            elements.opens.eq(opens),
            cut.opens.eq(opens),
            cut.lane.eq(lengths.panel_begin),
            lengths.rows.eq(rows),
            lengths.clear.eq(self.stop | ~busy),
        ]
        runs = Signal()
        m.d.comb += [
            cut.rows.valid.eq(lengths.o.valid & runs),
            cut.rows.payload.eq(lengths.o.payload),
            lengths.o.ready.eq(cut.rows.ready & runs),
        ]
        self._ask(m, readers, row, rows, lengths, asks)
        with m.FSM(name="state") as fsm:
            m.d.comb += busy.eq(~fsm.ongoing("idle"))
            with m.State("idle"), m.If(self.request.valid & self.request.ready):
                m.d.sync += [
                    row.eq(asked.panel.shift_left(step.bit_length() - 1)),
                    columns.eq(asked.columns),
                ]
                m.next = "count"
            with m.State("count"):
                m.d.sync += rows.eq(Mux(left < step, left, step))
                m.next = "ask"
                self._forget(m)
            with m.State("ask"):
                m.d.comb += readers["pointers"].request.valid.eq(1)
                with m.If(readers["pointers"].request.ready):
                    m.next = "look"
                self._forget(m)
            with m.State("look"):
                with m.If(lengths.known):
                    m.d.comb += opens.eq(1)
                    # Pointers that descend are told of without any element.
                    m.d.sync += asks.eq(Mux(lengths.panel_begin < lengths.panel_end, 0b11, 0))
                    m.next = "run"
                self._forget(m)
            with m.State("run"):
                m.d.comb += runs.eq(1)
                with m.If(self.o.valid & self.o.ready & self.o.payload.last):
                    m.next = "idle"
                self._forget(m)
        with m.If(self.stop):
            m.d.sync += asks.eq(0)
        return busy

    def _forget(self, m: Module) -> None:
        with m.If(self.stop):
            m.next = "idle"

    def _ask(
        self,
        m: Module,
        readers: dict[str, ArraySlice],
        row: Signal,
        rows: Signal,
        lengths: RowLengths,
        asks: Signal,
    ) -> None:
        """What is read of each array."""
        pointers = readers["pointers"].request.payload
        m.d.comb += [
            pointers.address.eq(self.job.pointers),
            pointers.lower.eq(row),
            pointers.upper.eq(row + rows + 1),
        ]
        for number, name in enumerate(("columns", "values")):
            request = readers[name].request
            m.d.comb += [
                request.valid.eq(asks[number]),
                request.payload.address.eq(self.job[name]),
                request.payload.lower.eq(lengths.panel_begin),
                request.payload.upper.eq(lengths.panel_end),
            ]
            with m.If(asks[number] & request.ready):
                m.d.sync += asks[number].eq(0)
