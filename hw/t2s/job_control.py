"""Takes jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..job.checks import first_broken
from ..job.states import control_members, first_failure, run_states
from ..spec.jobs.t2s import job_spec
from ..spec.t2s.config import T2sConfig
from .layouts import job_layout

__all__ = ["JobControl"]


class JobControl(wiring.Component):
    """The state of the array, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/t2s.py``. After a bus error or a soft reset everything is dropped, and
    when the bus is quiet the array is idle.

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    read_error, read_address, write_error, write_address: of the bus, held until ``stop``
    finished: every word of the result is stored and answered for
    quiet: nothing is under way in the bus
    job: the job at hand, constant while it runs, see :func:`job_layout`
    taken: pulse: a job is taken, and will be checked
    go: pulse: begin
    stop: level: begin nothing more, drop all
    busy; done, error: pulses; code, detail: why the last job failed
    """

    def __init__(self, config: T2sConfig) -> None:
        self._spec = job_spec(config)
        super().__init__(
            {
                **control_members(self._spec),
                "read_error": In(1),
                "write_error": In(1),
                "read_address": In(config.addr_bits),
                "write_address": In(config.addr_bits),
                "job": Out(job_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self._spec
        wrong = first_broken(m, spec, self)
        failures = (
            (self.read_error, spec.code("bus_read"), self.read_address),
            (self.write_error, spec.code("bus_write"), self.write_address),
        )
        states = run_states(m, self, wrong, first_failure(m, spec, "bus", failures))
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in spec.members]
        return m
