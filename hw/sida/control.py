"""Takes jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..job.checks import first_broken
from ..job.states import control_members, first_failure, run_states
from ..spec.jobs.sida import VECTOR_BASES, job_spec
from ..spec.sida import SidaConfig
from .layouts import job_bases, job_layout

__all__ = ["COLUMN_ERRORS", "ROW_ERRORS", "Control"]

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
        self._config = config
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

    @property
    def config(self) -> SidaConfig:
        return self._config

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
                   "stop_1", "stop_2", "limit", *job_bases(self._config))  # fmt: skip
        m.d.sync += [job[name].eq(getattr(self, name)) for name in numbers]
        m.d.sync += [job.vectors[n].eq(getattr(self, name)) for n, name in enumerate(VECTOR_BASES)]
        for name in ("first", "second"):
            with m.Switch(getattr(self, name)):
                for number, row in enumerate(self._config.operators):
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
                    for n, name in enumerate(self._config.readers)
                ),
                (self.write_error, code("bus_write"), self.write_address),
                (self.program_error, code("program"), self.instruction),
                *((getattr(self, f"{x}_error"), code(x), self.column) for x in COLUMN_ERRORS),
                *((getattr(self, f"{x}_error"), code(x), self.row) for x in ROW_ERRORS),
                (self.disagree_error, code("disagree"), self.disagree_row),
            ],
        )
