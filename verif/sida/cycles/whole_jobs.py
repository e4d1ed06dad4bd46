"""Jobs on the RTL behind a reset, and on the cycle model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.device.job_registers import JobRegisters, JobStatus
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sida.cycles.device import SidaCycles
from tilewright.sim.timing.dram import FLAT
from tilewright.verif.kit.job_checks import QuietAtEnd
from tilewright.verif.sida.jobs import Placed

__all__ = ["SidaDevice", "any_latency", "compare_counts", "compare_status"]

SidaDevice = NativeAccelerator[SidaConfig]


class _Noting(QuietAtEnd[SidaConfig]):
    """Notes the cycle of the interrupt."""

    def __init__(self, device: SidaDevice) -> None:
        super().__init__(device)
        self._clock, self.end = device, 0

    def wait(self) -> None:
        super().wait()
        # The device does not count the first cycle without reset.
        self.end = self._clock.cycles + 1


def compare_counts(device: SidaDevice, job: Placed, latency: int) -> dict[str, int]:
    """The counters of a job on a flat memory, and what it leaves in memory: both must be equal."""
    found, model = compare_status(device, job, latency)
    assert found.error == "none"
    content = device.read_memory(0, device.memory_bytes)
    assert content == model.read_memory(0, device.memory_bytes)
    (times,) = model.cycles
    assert sum(times.memory_read) == found.counts["bytes_read"]
    return found.counts


def compare_status(device: SidaDevice, job: Placed, latency: int) -> tuple[JobStatus, SidaCycles]:
    """How a job ends on a flat memory, and its counters if it ends well: both must be equal.
    Returns the model's device, too."""
    spec = job_spec(device.config)
    device.reset()
    device.behave(AxiBehaviour(latency=(latency, latency)))
    noting = _Noting(device)
    noting.write_memory(0, job.memory.tobytes())
    status = JobRegisters(noting, spec).submit(job.registers)
    model = SidaCycles(
        device.config,
        device.memory_bytes,
        memory=replace(FLAT, latency=latency),
        phase=noting.end - status.counts["cycles"],
    )
    model.write_memory(0, job.memory.tobytes())
    found = JobRegisters(model, spec).submit(job.registers)
    assert (found.error, found.detail) == (status.error, status.detail), job.registers
    assert found.error != "none" or found.counts == status.counts, job.registers
    return status, model


def any_latency(rng: np.random.Generator) -> int:
    """Of a flat memory."""
    return int(rng.choice([1, 3, 20, 60]))
