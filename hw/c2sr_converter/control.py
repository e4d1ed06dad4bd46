"""Takes the converter's jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..job.checks import first_broken
from ..job.states import DETAIL_BITS, control_members, first_failure, run_states
from ..spec.c2sr_converter import C2srConverterConfig
from ..spec.jobs.c2sr_converter import job_spec
from .layouts import converter_job_layout

__all__ = ["FAILURES", "ConverterControl"]

FAILURES = ("bus_read", "bus_write", "unsorted", "region")
"""What may happen to a job that runs; the first one is reported."""


class ConverterControl(wiring.Component):
    """The state of the converter, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/c2sr_converter.py``.

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    the members of ``FAILURES``: each with ``_detail``, held until ``stop``
    finished: all is written, and nothing is under way
    quiet: nothing is under way on the bus
    job: the job at hand, constant while it runs
    taken, go, stop, busy, done, error, code, detail: see :class:`JobStates`
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._spec = job_spec(config)
        super().__init__(
            {
                **control_members(self._spec),
                **{name: In(1) for name in FAILURES},
                **{f"{name}_detail": In(DETAIL_BITS) for name in FAILURES},
                "job": Out(converter_job_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wrong = first_broken(m, self._spec, self)
        failures = [
            (getattr(self, name), self._spec.code(name), getattr(self, f"{name}_detail"))
            for name in FAILURES
        ]
        states = run_states(
            m, self, wrong, first_failure(m, self._spec, "failing", failures), registered=True
        )
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in self._spec.members]
        return m
