"""Controls the order of a job: loads, passes and the write-back."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..job.activity import Activity, count, counter_members, ones
from ..job.checks import first_broken
from ..job.states import control_members, first_failure, run_states
from ..spec.elementwise.instructions import SCALARS
from ..spec.jobs.sida import VECTOR_BASES, job_spec
from ..spec.sida import SidaConfig
from .held.layouts import counts_layout
from .layouts import job_bases, job_layout
from .vectors.vector_banks import WAYS
from .vectors.vector_loader import whole_layout

STREAMS = ("pointers", "rows", "values", "again", "vectors", "program")
"""Streams that are read, by the counters of their bytes."""

EVENTS = (
    "column_cycles",
    "wait_columns",
    "wait_z",
    "wait_held",
    "lost",
    "instructions",
    "wait_elementwise",
)
"""Counters of cycles in which something happens."""


class Counters(wiring.Component):
    """Counters of the register map; they keep their values after a job.

    An event is counted two cycles after it at the latest.

    Parameters
    ----------
    config: see :class:`SidaConfig`

    Members
    -------
    clear: pulse: a job is taken
    running: a job runs
    twice: a pass has two products
    set_elements: those that go to the first product in this cycle
    waiting: operands that wait for a bank
    most: elements that waited at most in the pass
    sent: bytes that are sent; sent_windows: where vectors are in memory, those of x, z and w
    the members of ``EVENTS``, with ``_now`` behind them: whether it happens
    read: of each stream, in the order of ``STREAMS``, and channel, whether a beat comes; where
        vectors are in memory, of what is missing of them, too
    done: passes; product: which one ended the job
    and the counters, outputs
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "twice")},
                "set_elements": In(config.pes),
                "waiting": In(range(WAYS * config.pes + 1)),
                "most": In(counts_layout(config)["most"].shape),
                "sent": In(range(config.line_bytes + 1)),
                **{f"{name}_now": In(1) for name in EVENTS},
                "read": In(data.ArrayLayout(config.channels, len(STREAMS) + config.windowed)),
                **({"sent_windows": In(range(config.line_bytes + 1))} if config.windowed else {}),
                "done": In(32),
                "product": In(2),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.activity = activity = Activity()
        new = Signal(range(config.pes + 1), name="new_elements")
        m.d.sync += new.eq(ones(self.set_elements))
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(new != 0),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
            self.passes_done.eq(self.done),
            self.ended.eq(self.product),
        ]
        count(m, self, "cycles", self.running)
        count(m, self, "elements", new)
        count(m, self, "operations", Mux(self.twice, 4 * new, 2 * new))
        count(m, self, "conflicts", self.waiting, late=True)
        for name in EVENTS:
            count(m, self, name, getattr(self, f"{name}_now") & self.running)
        beat_bytes = config.geometry.beat_bytes
        beats = []
        streams = (*STREAMS, "windows_read") if config.windowed else STREAMS
        for number, name in enumerate(streams):
            came = Signal(range(config.channels + 1), name=f"new_{name}")
            m.d.sync += came.eq(ones(self.read[number]))
            beats.append(came)
            count(m, self, f"bytes_{name}", came * beat_bytes)
        count(m, self, "bytes_read", sum(beats, start=Cat()) * beat_bytes)
        count(m, self, "bytes_written", self.sent)
        if config.windowed:
            count(m, self, "bytes_windows_written", self.sent_windows)
        with m.If(self.clear):
            m.d.sync += self.held.eq(0)
        with m.Elif(self.most > self.held):
            m.d.sync += self.held.eq(self.most)
        return m


COLUMN_ERRORS = ("pointers", "index", "unsorted")
"""Errors of a column of the matrix in memory."""

ROW_ERRORS = tuple(f"rows_{name}" for name in COLUMN_ERRORS)
"""Errors of a row of the matrix in memory."""


class Control(wiring.Component):
    """Controls the state of the accelerator, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/sida.py``.

    Parameters
    ----------
    config: see :class:`SidaConfig`

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    read_error: of each reader, in the order of ``config.readers``; ``<name>_address``: where
    write_error, write_address: the same of the writer
    pointers_error, index_error, unsorted_error: of ``column``; with ``rows_`` before: of ``row``
    disagree_error, disagree_row: the panel of rows from there on is not what it is by columns
    program_error, instruction: of the word at that place
    finished: the job has ended, and nothing is under way
    quiet: nothing is under way on the bus
    job: the job at hand, constant while it runs
    running: the job has begun and has not ended
    taken, go, stop, busy, done, error, code, detail: see :class:`JobStates`

    Errors are held until ``stop``.
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        self._spec = job_spec(config)
        address = config.addr_bits
        errors = (*COLUMN_ERRORS, *ROW_ERRORS, "disagree", "program")
        super().__init__(
            {
                **control_members(self._spec),
                "read_error": In(len(config.readers)),
                **{f"{name}_address": In(address) for name in (*config.readers, "write")},
                "write_error": In(1),
                **{f"{name}_error": In(1) for name in errors},
                "column": In(config.place_bits),
                "row": In(config.place_bits),
                "disagree_row": In(config.place_bits),
                "instruction": In(range(config.program_words + 1)),
                "job": Out(job_layout(config)),
                "running": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wrong = first_broken(m, self._spec, self)
        failed = self._failure(m)
        states = run_states(m, self, wrong, failed, registered=True)
        with m.If(states.taken):
            self._take(m)
        begun = Signal()
        m.d.comb += self.running.eq(states.go | begun)
        m.d.sync += begun.eq(self.running & states.busy & ~states.done)
        return m

    def _take(self, m: Module) -> None:
        job = self.job
        numbers = ("rows", "passes", "second_product", "transposed", "words", "entry", "stops",
                   "stop_1", "stop_2", "limit", *job_bases(self.config))  # fmt: skip
        m.d.sync += [job[name].eq(getattr(self, name)) for name in numbers]
        m.d.sync += [job.vectors[n].eq(getattr(self, name)) for n, name in enumerate(VECTOR_BASES)]
        for name in ("first", "second"):
            with m.Switch(getattr(self, name)):
                for number, row in enumerate(self.config.operators):
                    with m.Case(row.opcode):
                        m.d.sync += job[name].eq(number)

    def _failure(self, m: Module) -> tuple[Value, Value]:
        """Returns the code (0: none) and the detail of the first error."""
        code = self._spec.code
        return first_failure(
            m,
            self._spec,
            "failure",
            [
                *(
                    (self.read_error[n], code("bus_read"), getattr(self, f"{name}_address"))
                    for n, name in enumerate(self.config.readers)
                ),
                (self.write_error, code("bus_write"), self.write_address),
                (self.program_error, code("program"), self.instruction),
                *((getattr(self, f"{x}_error"), code(x), self.column) for x in COLUMN_ERRORS),
                *((getattr(self, f"{x}_error"), code(x), self.row) for x in ROW_ERRORS),
                (self.disagree_error, code("disagree"), self.disagree_row),
            ],
        )


class PassControl(wiring.Component):
    """Controls the passes of a job.

    It has the scalars, the program and x loaded. Each pass runs the first product with E1, then the
    second product with E2. In the end the scalars are written back.

    A part begins when what the one before has stored is in memory.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    job: see :func:`job_layout`
    taken: in, a pulse: a job comes, to be checked; go: in, a pulse: it begins
    load_program: out, a pulse: the program is to be loaded
    program_idle: in; nothing of it is under way
    whole: stream, see :func:`whole_layout`: the vector that is to be loaded
    loads_scalars: out; its rows are scalars, else x
    scalars_loaded, x_loaded: in; for one cycle: the last of it has come
    first, second: out, pulses: the products of a pass begin, each with its part of the program
    part_done: in; for one cycle: the part of the program is over
    sums_done: in; the second product is complete
    quiet: in; nothing is on its way to memory
    check: out, a pulse: the test for the end; checked, below: in; see :class:`ScalarPort`
    save: out, a pulse: the scalars are to be written back; saved: in; for one cycle: all are given
    columns_pass: out; the first product is under way
    turned: out; z and x have changed places
    passes: out; that are done, kept until the next job is taken; ended: out; see the counter
    finished: out; the job has ended, until the next one begins
    clear: in; forgets the job
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        inputs = (
            "taken", "go", "program_idle", "scalars_loaded", "x_loaded", "part_done", "sums_done",
            "quiet", "checked", "saved", "clear",
        )  # fmt: skip
        outputs = (
            "load_program", "loads_scalars", "first", "second", "check", "save", "columns_pass",
            "turned", "finished",
        )  # fmt: skip
        super().__init__(
            {
                "job": In(job_layout(config)),
                **{name: In(1) for name in inputs},
                **{name: Out(1) for name in outputs},
                "whole": Out(stream.Signature(whole_layout(config))),
                "below": In(2),
                "passes": Out(32),
                "ended": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job = self.job
        part_over = Signal()
        with m.FSM(name="state"):
            with m.State("IDLE"), m.If(self.go):
                m.d.comb += self.load_program.eq(1)
                m.d.sync += self.turned.eq(0)
                m.next = "ASK_SCALARS"
            with m.State("ASK_SCALARS"):
                self._asks(m, job.scalars, SCALARS)
                self._when(m, self.whole.ready, "LOAD_SCALARS")
            with m.State("LOAD_SCALARS"):
                m.d.comb += self.loads_scalars.eq(1)
                self._when(m, self.scalars_loaded, "ASK_X")
            with m.State("ASK_X"):
                self._asks(m, job.x, job.rows)
                self._when(m, self.whole.ready, "LOAD_X")
            with m.State("LOAD_X"):
                self._when(m, self.x_loaded, "LOAD_PROGRAM")
            with m.State("LOAD_PROGRAM"):
                # With vectors in memory, x has been written to another place.
                ready = self.program_idle & self.quiet
                self._when(m, ready if self.config.windowed else self.program_idle, "FIRST")
            with m.State("FIRST"):
                m.d.comb += self.first.eq(1)
                m.d.sync += part_over.eq(0)
                self._when(m, 1, "FIRST_PRODUCT")
            with m.State("FIRST_PRODUCT"):
                m.d.comb += self.columns_pass.eq(1)
                over = part_over & self.quiet & (self.sums_done | ~job.second_product)
                self._when(m, over & ~job.second_product, "TURN")
                with m.If(over & job.second_product & ~self.clear):
                    m.next = "SECOND"
            with m.State("TURN"):
                m.d.sync += self.turned.eq(~self.turned)
                self._when(m, 1, "CHECK")
            with m.State("SECOND"):
                m.d.comb += self.second.eq(1)
                m.d.sync += part_over.eq(0)
                self._when(m, 1, "SECOND_PRODUCT")
            with m.State("SECOND_PRODUCT"):
                self._when(m, part_over & self.quiet, "CHECK")
            with m.State("CHECK"):
                m.d.comb += self.check.eq(1)
                m.d.sync += self.passes.eq(self.passes + 1)
                self._when(m, 1, "COMPARE")
            with m.State("COMPARE"):
                self._when(m, self.checked, "NEXT")
                with m.If(self.checked & job.stops):
                    with m.If(self.below[0]):
                        m.d.sync += self.ended.eq(1)
                    with m.Elif(self.below[1] & job.second_product):
                        m.d.sync += self.ended.eq(2)
            with m.State("NEXT"):
                last = (self.ended != 0) | (self.passes == job.passes)
                self._when(m, ~last, "FIRST")
                with m.If(last & ~self.clear):
                    m.next = "SAVE"
            with m.State("SAVE"):
                m.d.comb += self.save.eq(1)
                self._when(m, 1, "SAVE_SCALARS")
            with m.State("SAVE_SCALARS"):
                self._when(m, self.saved, "WRITE")
            with m.State("WRITE"):
                self._when(m, self.quiet, "END")
            with m.State("END"):
                m.d.comb += self.finished.eq(1)
                self._when(m, self.go, "ASK_SCALARS")
                with m.If(self.go):
                    m.d.comb += self.load_program.eq(1)
                    m.d.sync += self.turned.eq(0)
        with m.If(self.taken):
            m.d.sync += [self.passes.eq(0), self.ended.eq(0)]
        with m.If(self.part_done):
            m.d.sync += part_over.eq(1)
        return m

    def _asks(self, m: Module, address: Value, columns: Value | int) -> None:
        m.d.comb += [
            self.whole.valid.eq(1),
            self.whole.payload.address.eq(address),
            self.whole.payload.columns.eq(columns),
        ]

    def _when(self, m: Module, condition: Value | int, following: str) -> None:
        """Sets the next state, unless the job is cleared."""
        with m.If(condition):
            m.next = following
        with m.If(self.clear):
            m.next = "IDLE"
