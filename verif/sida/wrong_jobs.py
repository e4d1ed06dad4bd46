"""Jobs that are stopped: by an error of the bus, or by a soft reset."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.sim.device.job_registers import JobRegisters, JobStatus
from tilewright.verif.kit.job_checks import Mismatch, QuietAtEnd, soft_reset_after
from tilewright.verif.sida.jobs import Placed, SidaRtl

__all__ = ["check_bus_error", "check_reset"]


def check_bus_error(
    device: SidaRtl, placed: Placed, error: str, where: npt.NDArray[np.bool_]
) -> JobStatus:
    """Run a job that must end with ``error`` at an address of ``where``; outside of what it writes
    memory must stay as it was. Returns how it ended. Raises Mismatch."""
    watched = QuietAtEnd(device)
    watched.write_memory(0, placed.memory.tobytes())
    found = JobRegisters(watched, job_spec(placed.config)).submit(placed.registers)
    there = found.detail < len(where) and bool(where[found.detail])
    if found.error != error or not there:
        raise Mismatch(f"{found.error}, detail {found.detail:#x}, expected {error}")
    _check_outside(device, placed)
    return found


def check_reset(device: SidaRtl, placed: Placed, cycles: int) -> bool:
    """A soft reset some cycles after a job's start must bring the accelerator back to idle.

    Returns whether the job was broken off. Raises Mismatch.
    """
    device.write_memory(0, placed.memory.tobytes())
    registers = JobRegisters(device, job_spec(placed.config))
    registers.write_all(placed.registers)
    stopped = soft_reset_after(device, registers, cycles)
    _check_outside(device, placed)
    return stopped


def _check_outside(device: SidaRtl, placed: Placed) -> None:
    content = np.frombuffer(device.read_memory(0, device.memory_bytes), np.uint8)
    changed = content[: len(placed.memory)] != placed.memory
    changed &= ~placed.inside("scalars", *placed.stored)
    if changed.any():
        first = int(np.argmax(changed))
        raise Mismatch(f"{np.count_nonzero(changed)} bytes are not as they were, first {first:#x}")
