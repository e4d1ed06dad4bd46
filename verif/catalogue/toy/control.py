"""The state of the toy adder, and what it counts. A system's: ``hw/<name>``."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.job.activity import count, counter_members
from tilewright.hw.job.checks import first_broken
from tilewright.hw.job.states import DETAIL_BITS, control_members, first_failure, run_states
from tilewright.verif.catalogue.toy.spec import ToyAdderConfig, job_spec

_FAILURES = ("bus_read", "bus_write")
"""Failures of a running job; the first one is reported."""


class ToyControl(wiring.Component):
    """Takes jobs from the registers, checks them, and starts, ends and stops them.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    the job registers, and those of :class:`JobStates`
    bus_read, bus_write: in; the bus has failed, held until ``stop``; ``_detail``: where
    job: out; the job at hand, constant while it runs
    """

    def __init__(self, config: ToyAdderConfig) -> None:
        self._spec = spec = job_spec(config)
        job = data.StructLayout({name: field.width for name, field in spec.members.items()})
        super().__init__(
            {
                **control_members(spec),
                **{name: In(1) for name in _FAILURES},
                **{f"{name}_detail": In(DETAIL_BITS) for name in _FAILURES},
                "job": Out(job),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        failures = [
            (getattr(self, name), self._spec.code(name), getattr(self, f"{name}_detail"))
            for name in _FAILURES
        ]
        broken = first_broken(m, self._spec, self)
        states = run_states(m, self, broken, first_failure(m, self._spec, "failing", failures))
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in self._spec.members]
        return m


class ToyCounters(wiring.Component):
    """The counters of the registers; they keep their values after a job.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    clear: in, a pulse: a job is taken
    running, added: in; a job runs; a beat is added
    and the counters, outputs
    """

    def __init__(self, config: ToyAdderConfig) -> None:
        inputs = {name: In(1) for name in ("clear", "running", "added")}
        super().__init__({**inputs, **counter_members(job_spec(config))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count(m, self, "cycles", self.running)
        count(m, self, "beats_added", self.added)
        return m
