"""Every accelerator that is registered under cocotb, on memories and a register master that share
no code with those of the native simulation: small configurations, one build each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.verif.bench.device import AxiDevice
from tilewright.verif.conformance.checks import Conformance
from tilewright.verif.conformance.limits import breakable
from tilewright.verif.conformance.recorded import MEMORY_BYTES, Subject, structures, subject
from tilewright.verif.kit.job_checks import check_interrupt
from tilewright.verif.kit.sampling import by_size, rng_of

pytestmark = pytest.mark.slow

Unit = Conformance[AxiDevice[Any]]

_STRUCTURES = structures()
_CYCLES = 50_000
_STALL = 0.2
_ROUGH: dict[str, Any] = {"latency": (1, 80), "stall": 0.3, "mixed": True, "modes": True}

_MAY_WAIT = ("matraptor",)
"""Accelerators whose RREADY may be low when a response comes."""


def device_of(made: Subject, **settings: Any) -> AxiDevice[Any]:
    """Returns the unit's RTL in cocotb."""
    sides = [side for port in made.spec.traffic for side in (port.reads, port.writes) if side]
    return AxiDevice(
        made.emitted(),
        made.config,
        outstanding=max(side.outstanding_per_id for side in sides),
        may_wait=made.name in _MAY_WAIT,
        memory_bytes=MEMORY_BYTES,
        lite_stall=_STALL,
        time_out=_CYCLES,
        **settings,
    )


@pytest.fixture(scope="module", params=_STRUCTURES)
def unit(request: pytest.FixtureRequest) -> Iterator[Unit]:
    """Runs the unit on the memories of cocotbext-axi."""
    made = subject(request.param)
    with device_of(made, axi_ram=True, stall=_STALL) as device:
        yield Conformance(made, device)


def few(unit: Unit) -> slice:
    """Some of its jobs, the shortest first."""
    return slice(None, None, -(-len(unit.subject.jobs) // by_size(2, 4, 40)))


def begin(unit: Unit, seed: int, **behaviour: Any) -> np.random.Generator:
    """A memory that answers well, and random numbers."""
    unit.device.behave(**{"stall": _STALL, **behaviour})
    return rng_of(seed)


class Held:
    """A device whose memory does not answer before the host waits for the interrupt."""

    def __init__(self, device: AxiDevice[Any]) -> None:
        self._device = device
        device.behave(stall=1.0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def wait(self) -> None:
        self._device.behave(stall=_STALL)
        self._device.wait()


def test_registers(unit: Unit) -> None:
    unit.check_answers()


def test_jobs(unit: Unit) -> None:
    """Results, all else of the memory, counters, bytes over the bus, a quiet bus at the end."""
    for stall in (0.0, 0.4):
        begin(unit, 1, stall=stall)
        for job in unit.subject.jobs[few(unit)]:
            unit.check_job(job)


def test_jobs_that_cannot_run(unit: Unit) -> None:
    begin(unit, 2)
    spec = unit.subject.spec
    rules = [check for check in spec.checks if breakable(spec, check)]
    rules = rules[:: -(-len(rules) // by_size(4, 12, 1000))]
    assert unit.check_refusals(rules) == len(rules)


def test_interrupt(unit: Unit) -> None:
    begin(unit, 3, stall=0.0)
    job = unit.subject.jobs[0]
    cycles = unit.check_job(job).counts["cycles"]
    unit.device.write_memory(0, job.before.tobytes())
    check_interrupt(unit.device, unit.subject.spec, job.registers, 2 * cycles + 200)
    unit.check_next("starts around an end")


def test_registers_are_free_while_a_job_runs(unit: Unit) -> None:
    begin(unit, 4)
    held: Any = Held(unit.device)
    Conformance(unit.subject, held).check_busy(unit.subject.jobs[0])


def test_errors_of_the_bus(unit: Unit) -> None:
    """Injects an error in a beat of each array that some jobs read, and in a burst of each array
    that they write."""
    rng = begin(unit, 5)
    for number, job in enumerate(unit.subject.jobs[few(unit)]):
        for beat, must, _ in unit.read_beats(job, rng)[:: by_size(2, 1, 1)]:
            unit.device.behave(stall=_STALL, bad_reads={beat: 2})
            unit.check_failure(job, "bus_read", [beat], must=must)
        for span in job.outputs[:2]:
            bad = unit.beats(span)
            unit.device.behave(stall=_STALL, bad_writes=dict.fromkeys(bad, 2))
            unit.check_failure(job, "bus_write", bad, must=True)
        begin(unit, 5)
        unit.check_next("errors of the bus", number)


def test_soft_reset_at_any_time(unit: Unit) -> None:
    rng, stopped = begin(unit, 6), 0
    for number in range(by_size(3, 6, 40)):
        job = unit.subject.jobs[number % len(unit.subject.jobs)]
        stopped += unit.check_reset(job, int(rng.integers(150)))
        unit.check_next("a soft reset", number)
    assert stopped


@pytest.mark.parametrize("structure", _STRUCTURES)
def test_managers_keep_their_promises(structure: str) -> None:
    """Managers obey their rules on our own memory, whose responses overtake each other: no pause
    within a write burst, no more bursts in flight than declared, and responses accepted at once.
    EXOKAY is not an error."""
    made = subject(structure)
    with device_of(made) as device:
        unit = Conformance(made, device)
        for seed, behaviour in enumerate(({}, {"modes": True}, _ROUGH)):
            device.behave(seed=seed, **behaviour)
            for job in made.jobs[few(unit)]:
                unit.check_job(job)
        for job in made.jobs[few(unit)]:
            beats = (beat for span in job.spans for beat in unit.beats(span))
            device.behave(bad_reads=dict.fromkeys(beats, 1))
            unit.check_job(job, "EXOKAY")
        assert device.faults == []
