"""SIDA: two products with a sparse matrix in one pass over it, and the work between them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any, Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from ..axi.interconnect import ReadInterconnect
from ..job.accelerator_top import AcceleratorTop
from ..spec.jobs.sida import job_spec
from ..spec.sida import SidaConfig
from ..stream.fork_join import Fork, connect_fields
from .elementwise.ewise_core import EwiseCore
from .elementwise.memory_ports import ProgramLoader, ScalarPort
from .elementwise.row_packer import RowPacker
from .held.held_elements import HeldElements
from .held.late_sums import SumRows
from .keep_vectors import keep_vectors
from .layouts import count_bits, set_layout
from .load.column_loader import ColumnLoader
from .load.row_loader import RowLoader
from .pass_control import COLUMN_ERRORS, Control, Counters, PassControl
from .spilled.windowed_elements import WindowedElements
from .sums.both_sums import BothSums
from .vectors.gather import Gather
from .vectors.vector_loader import VectorLoader
from .vectors.vector_writer import VectorWriter
from .vectors.window_loader import WindowLoader

__all__ = ["Sida"]


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """Parts of the accelerator, by their names in it."""

    control: Control
    passes: PassControl
    counters: Counters
    columns: ColumnLoader
    rows: RowLoader
    vectors: VectorLoader
    program: ProgramLoader
    writer: VectorWriter
    gather: Gather
    sums: BothSums
    packer: RowPacker
    held: HeldElements
    sum_rows: SumRows | None
    core: EwiseCore
    scalars: ScalarPort
    windows: WindowLoader | None

    @property
    def readers(self) -> tuple[Any, ...]:
        """Readers of memory, in the order of ``config.readers``."""
        readers = (self.columns, self.rows, self.vectors, self.program)
        return readers if self.windows is None else (*readers, self.windows)


class Sida(AcceleratorTop):
    """Computes passes over a sparse matrix, each of one product or two.

    A program of element-wise work follows each product.

    The matrix streams by columns; results leave a column's sums, go through E1 and come back as
    operands of the second product, two steps behind the columns. What is computed, and in which
    order values are added, says ``sim/sida/result``, bit for bit.

    Source: Exploiting data reuse with inter-operator dataflow, the SIDA microarchitecture.

    Parameters
    ----------
    config: see :class:`SidaConfig`

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers of ``job_spec(config)``
    m0_axi_*, ...: AXI4 managers, one a memory channel
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            job_spec(config),
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.id_bits,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        parts = _Parts(
            control=Control(config),
            passes=PassControl(config),
            counters=Counters(config),
            columns=ColumnLoader(config),
            rows=RowLoader(config),
            vectors=VectorLoader(config),
            program=ProgramLoader(config),
            writer=VectorWriter(config),
            gather=Gather(config),
            sums=BothSums(config),
            packer=RowPacker(config),
            held=WindowedElements(config) if config.windowed else HeldElements(config),
            sum_rows=None if config.windowed else SumRows(config),
            core=EwiseCore(config),
            scalars=ScalarPort(config),
            windows=WindowLoader(config) if config.windowed else None,
        )
        for field in fields(parts):
            if getattr(parts, field.name) is not None:
                m.submodules[field.name] = getattr(parts, field.name)
        control, job = parts.control, parts.control.job
        for part in (*parts.readers, parts.writer):
            m.d.comb += part.stop.eq(control.stop)
        sum_rows: list[Any] = [] if parts.sum_rows is None else [parts.sum_rows]
        for clearable in (parts.passes, parts.gather, parts.sums, parts.packer, parts.held,
                          *sum_rows, parts.core, parts.scalars):  # fmt: skip
            m.d.comb += clearable.clear.eq(control.stop)
        for sized in (parts.vectors, parts.writer, parts.packer, parts.held, *sum_rows,
                      parts.core):  # fmt: skip
            m.d.comb += sized.columns.eq(job.rows)
        self._load_matrix(m, parts)
        self._add_up(m, parts)
        self._compute(m, parts)
        self._move_vectors(m, parts)
        beats = self._connect_bus(m, parts)
        self._connect_control(m, parts)
        self._count(m, parts, beats)
        self.connect_registers(m, control, parts.counters)
        return m

    def _load_matrix(self, m: Module, parts: _Parts) -> None:
        """Columns to both products, and rows of which elements were given up."""
        job, columns, rows, held = parts.control.job, parts.columns, parts.rows, parts.held
        m.submodules.deal = deal = Fork(set_layout(self.config), 2, eager=True)
        wiring.connect(m, columns.o, deal.i)
        wiring.connect(m, deal.o[0], parts.gather.i)
        wiring.connect(m, deal.o[1], held.i)
        wiring.connect(m, held.request, rows.request)
        wiring.connect(m, rows.o, held.reload)
        m.d.comb += [
            deal.clear.eq(parts.control.stop),
            deal.to.eq(Cat(1, job.second_product)),
            columns.start.eq(parts.passes.first),
            held.start.eq(parts.passes.first & job.second_product),
            held.transposed.eq(job.transposed),
            columns.job.pointers.eq(job.column_pointers),
            columns.job.rows.eq(job.row_numbers),
            columns.job.values.eq(job.column_values),
            columns.job.columns.eq(job.rows),
            # The panels of the transpose are of columns.
            rows.job.pointers.eq(Mux(job.transposed, job.column_pointers, job.row_pointers)),
            rows.job.columns.eq(Mux(job.transposed, job.row_numbers, job.column_numbers)),
            rows.job["values"].eq(Mux(job.transposed, job.column_values, job.row_values)),
            rows.job.rows.eq(job.rows),
        ]

    def _add_up(self, m: Module, parts: _Parts) -> None:
        """Sums of columns: for E1, and for what waits to be added to."""
        job, sums, held = parts.control.job, parts.sums, parts.held
        wiring.connect(m, parts.gather.o, sums.i)
        # Semirings have registers of their own for the operators of each part.
        m.d.sync += [
            sums.first_semiring.eq(job.first),
            sums.second_semiring.eq(job.second),
            held.semiring.eq(job.second),
        ]
        m.d.comb += [
            sums.turned.eq(0 if self.config.windowed else parts.passes.turned),
            sums.transposed.eq(job.transposed),
            parts.packer.valid.eq(sums.first.valid),
            parts.packer.results.eq(sums.first.results),
            held.first_valid.eq(sums.second.valid & job.second_product),
            held.first.eq(sums.second.results),
        ]

    def _compute(self, m: Module, parts: _Parts) -> None:
        """Connects E1 to the first product and to z, and E2 to the second product and to x."""
        config, passes, core = self.config, parts.passes, parts.core
        job, gather, held = parts.control.job, parts.gather, parts.held
        # The second part of the program runs.
        second = Signal(name="runs_second")
        with m.If(passes.first | passes.second):
            m.d.sync += second.eq(passes.second)
        packed, (summed, gives_w) = parts.packer.o, self._rows_of_w(parts)
        given = core.o.payload
        takes = Signal(name="takes_row")
        into_z = Signal()
        m.d.comb += [
            core.start.eq(passes.first | passes.second),
            core.entry.eq(Mux(passes.second, job.entry, 0)),
            *gives_w,
            core.i.valid.eq(Mux(second, summed.valid, packed.valid)),
            core.i.payload.eq(Mux(second, summed.payload, packed.payload)),
            packed.ready.eq(core.i.ready & ~second),
            summed.ready.eq(core.i.ready & second),
            into_z.eq(~second & job.second_product),
            held.z.valid.eq(core.o.valid & into_z),
            held.z.payload.eq(given["values"]),
            core.o.ready.eq(held.z.ready | ~into_z),
            takes.eq(core.o.valid & core.o.ready),
        ]
        if config.windowed:
            keep_vectors(m, parts, second, into_z)
            return
        # Steps that are complete.
        steps = Signal(count_bits(config))
        step_rows = config.subtensor // config.pes
        row_number = given.base >> config.pes.bit_length() - 1
        ends_step = row_number[: step_rows.bit_length() - 1].all() if step_rows > 1 else Const(1)
        m.d.comb += gather.z_steps.eq(steps)
        with m.If(passes.first):
            m.d.sync += steps.eq(0)
        with m.Elif(takes & ~second & ends_step):
            m.d.sync += steps.eq(steps + 1)
        # With one product per pass, the result is the next operand: z and x change places.
        rows = parts.vectors.rows
        loads_x = Signal()
        m.d.comb += loads_x.eq(rows.valid & ~passes.loads_scalars)
        turned = passes.turned
        row = Signal(given.shape(), name="written_row")
        m.d.comb += row.eq(Mux(loads_x, rows.payload, given))
        for write, valid in (
            (gather.x_write, loads_x | (takes & Mux(turned, ~second, second))),
            (gather.z_write, takes & Mux(turned, second, ~second)),
        ):
            m.d.comb += [
                write.valid.eq(valid),
                write.base.eq(row.base),
                write.mask.eq(row.mask),
                write["values"].eq(row["values"]),
            ]

    def _rows_of_w(self, parts: _Parts) -> tuple[Any, list[Any]]:
        """The second product, row by row, when E2 begins; and the statements for that."""
        held, rows, starts = parts.held, parts.sum_rows, parts.passes.second
        if rows is None:
            return held.w, [held.reads.eq(starts)]
        return rows.o, [rows.start.eq(starts), held.place.eq(rows.place), rows.w.eq(held.w)]

    def _move_vectors(self, m: Module, parts: _Parts) -> None:
        """Connects vectors, scalars and the program to memory."""
        job, passes, core = parts.control.job, parts.passes, parts.core
        vectors, writer, scalars, program = (
            parts.vectors, parts.writer, parts.scalars, parts.program
        )  # fmt: skip
        wiring.connect(m, core.requests, vectors.requests)
        wiring.connect(m, vectors.loaded, core.loaded)
        wiring.connect(m, core.stored, writer.stored)
        wiring.connect(m, scalars.o, writer.scalars)
        wiring.connect(m, passes.whole, vectors.whole)
        rows = vectors.rows
        last = Signal(name="last_row_of_x")
        x_taken = ~passes.loads_scalars
        if self.config.windowed:
            x_taken = x_taken & writer.operands.ready
        m.d.comb += [
            last.eq(rows.payload.base + self.config.pes >= job.rows),
            scalars.i.valid.eq(rows.valid & passes.loads_scalars),
            scalars.i.payload.eq(rows.payload),
            rows.ready.eq(scalars.i.ready | x_taken),
            passes.scalars_loaded.eq(scalars.loaded),
            passes.x_loaded.eq(rows.valid & last & x_taken),
            passes.checked.eq(scalars.checked),
            passes.below.eq(scalars.below),
            scalars.check.eq(passes.check),
            scalars.save.eq(passes.save),
            passes.saved.eq(scalars.saved),
            *(getattr(scalars, name).eq(job[name]) for name in ("stop_1", "stop_2", "limit")),
            core.scalar_write.eq(scalars.scalar_write),
            core.scalar_place.eq(scalars.scalar_place),
            core.scalar.eq(scalars.scalar),
            scalars.scalar_read.eq(core.scalar_read),
            vectors.bases.eq(job.vectors),
            writer.bases.eq(job.vectors),
            writer.scalars_base.eq(job.scalars),
            program.start.eq(passes.load_program),
            program.address.eq(job.program_base),
            program.words.eq(job.words),
            core.words.eq(job.words),
            passes.program_idle.eq(program.idle),
            *(
                getattr(core, name).eq(getattr(program, name))
                for name in ("program_write", "program_place", "word")
            ),
        ]

    def _connect_bus(self, m: Module, parts: _Parts) -> dict[str, list[Value]]:
        """Connects the readers of each channel to its manager.

        Returns by reader which channels bring it a beat.
        """
        config, writer = self.config, parts.writer
        slot_bits = config.id_bits - config.reader_bits
        beats: dict[str, list[Value]] = {name: [] for name in config.readers}
        for channel in range(config.channels):
            bus = ReadInterconnect(
                len(config.readers),
                addr_bits=config.addr_bits,
                data_bits=config.data_bits,
                slot_bits=slot_bits,
                id_bits=config.id_bits,
            )
            m.submodules[f"reads_{channel}"] = bus
            readers = zip(config.readers, parts.readers, strict=True)
            for number, (name, reader) in enumerate(readers):
                asks, found = reader.ar[channel], bus.reader_r[number]
                _connect(m, asks, bus.reader_ar[number])
                _connect(m, found, reader.r[channel])
                beats[name].append(found.valid & found.ready)
            write = SimpleNamespace(aw=writer.aw[channel], w=writer.w[channel], b=writer.b[channel])
            self.connect_manager(m, channel, read=bus, write=write)
        return beats

    def _connect_control(self, m: Module, parts: _Parts) -> None:
        """Connects errors, the parts' activity and the end of the job to the control."""
        control, passes, core, writer = parts.control, parts.passes, parts.core, parts.writer
        quiet = Cat(part.idle for part in (*parts.readers, writer)).all()
        m.d.comb += [
            passes.job.eq(control.job),
            passes.taken.eq(control.taken),
            passes.go.eq(control.go),
            passes.part_done.eq(core.done),
            passes.sums_done.eq(parts.held.done),
            passes.quiet.eq(quiet),
            control.read_error.eq(Cat(part.error for part in parts.readers)),
            control.write_error.eq(writer.error),
            control.write_address.eq(writer.error_address),
            control.program_error.eq(core.error),
            control.instruction.eq(core.error_place),
            control.row.eq(parts.rows.error_row),
            control.quiet.eq(quiet),
            control.finished.eq(passes.finished & quiet),
        ]
        for name, part in zip(self.config.readers, parts.readers, strict=True):
            m.d.comb += getattr(control, f"{name}_address").eq(part.error_address)
        self._connect_matrix_errors(m, parts)

    def _connect_matrix_errors(self, m: Module, parts: _Parts) -> None:
        """Connects the errors of columns and of rows.

        On the transpose, the rows that are refetched are columns.
        """
        control, columns, rows = parts.control, parts.columns, parts.rows
        of_columns = (columns.pointer_error, columns.row_error, columns.order_error)
        of_rows = (rows.pointer_error, rows.column_error, rows.order_error)
        again = Signal(name="columns_again_error")
        m.d.comb += [
            again.eq(control.job.transposed & ~Cat(of_columns).any()),
            control.column.eq(Mux(again, rows.error_row, columns.error_column)),
            control.disagree_error.eq(parts.held.disagrees),
            control.disagree_row.eq(parts.held.disagrees_row),
        ]
        for name, first, second in zip(COLUMN_ERRORS, of_columns, of_rows, strict=True):
            m.d.comb += [
                getattr(control, f"{name}_error").eq(Mux(again, second, first)),
                getattr(control, f"rows_{name}_error").eq(second & ~control.job.transposed),
            ]

    def _count(self, m: Module, parts: _Parts, beats: dict[str, list[Value]]) -> None:
        counters, control, passes = parts.counters, parts.control, parts.passes
        columns, held, core = parts.columns, parts.held, parts.core
        arrays = [getattr(columns, f"read_beats_{name}") for name in ("pointers", "rows", "values")]
        others = [Cat(beats[name]) for name in self.config.readers[1:]]
        # Buffered elements are counted anew with a pass of two products.
        counts_held = Signal()
        # Sets of the pass are still outstanding.
        comes = Signal(name="columns_come")
        with m.If(control.stop):
            m.d.sync += comes.eq(0)
        with m.Elif(passes.first):
            m.d.sync += comes.eq(1)
        with m.Elif(columns.o.valid & columns.o.ready & columns.o.payload.final):
            m.d.sync += comes.eq(0)
        m.d.comb += [
            counts_held.eq(passes.columns_pass & control.job.second_product),
            counters.clear.eq(control.taken),
            counters.running.eq(control.running),
            counters.twice.eq(control.job.second_product),
            counters.set_elements.eq(parts.sums.elements),
            counters.waiting.eq(parts.gather.conflicts),
            counters.most.eq(Mux(counts_held, held.counts.most, 0)),
            counters.sent.eq(parts.writer.sent),
            counters.done.eq(passes.passes),
            counters.product.eq(passes.ended),
            counters.column_cycles_now.eq(comes),
            counters.wait_columns_now.eq(comes & ~columns.o.valid),
            counters.wait_z_now.eq(parts.gather.waits),
            counters.wait_held_now.eq(held.i.valid & ~held.i.ready),
            counters.lost_now.eq(held.request.valid & held.request.ready),
            counters.instructions_now.eq(core.executes),
            counters.wait_elementwise_now.eq(core.waits),
            Cat(counters.read).eq(Cat(*arrays, *others)),
        ]
        if self.config.windowed:
            m.d.comb += counters.sent_windows.eq(parts.writer.sent_windows)


def _connect(m: Module, source: Any, sink: Any) -> None:
    """Connects the same fields, with IDs extended to the sink's width."""
    names = [name for name, _ in sink.payload.shape()]
    connect_fields(m, source, sink, **{name: source.payload[name] for name in names})
