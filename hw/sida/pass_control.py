"""Controls the order of a job: loads, passes and the write-back."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.elementwise.instructions import SCALARS
from ..spec.sida import SidaConfig
from .layouts import job_layout
from .vectors.vector_loader import whole_layout

__all__ = ["PassControl"]


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
        self._config = config
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

    @property
    def config(self) -> SidaConfig:
        return self._config

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
                self._when(m, ready if self._config.windowed else self.program_idle, "FIRST")
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
