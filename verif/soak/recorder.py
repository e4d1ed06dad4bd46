"""An accelerator that remembers the jobs that a driver ran on it, so that they can be run again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.registers.job_spec import JobSpec
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.kit.job_checks import Mismatch, soft_reset_after

Bytes = npt.NDArray[np.uint8]
Span = tuple[int, int]
"""An address and a number of bytes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedJob:
    """A job that ended, with its results.

    Parameters
    ----------
    before, after: all of memory, when it was started and when its interrupt came
    words: of the registers by offset, but for CTRL and STATUS
    status: STATUS at the interrupt
    detail: ERROR_DETAIL then
    """

    before: Bytes
    words: dict[int, int]
    after: Bytes
    status: int
    detail: int


class RecordingAccelerator(NativeAccelerator[Any]):
    """Records each job between its start and its interrupt in ``jobs``, which the caller empties.

    ``spec`` describes its jobs; other parameters are those of :class:`NativeAccelerator`.
    """

    def __init__(self, spec: JobSpec, *args: Any, **settings: Any) -> None:
        self.spec = spec
        self.jobs: list[RecordedJob] = []
        self._words: dict[int, int] = {}
        self._before: Bytes | None = None
        super().__init__(*args, **settings)

    def reset(self) -> None:
        """Resets the accelerator; registers have their initial values afterwards."""
        super().reset()
        self._words = {}

    def write_register(self, offset: int, value: int) -> None:
        """Writes a register; a write that starts a job also copies the memory."""
        control = self.spec.registers["CTRL"]
        if offset == control.offset and control.get(value, "start"):
            self._before = self.memory.copy()
        super().write_register(offset, value)
        if offset not in (control.offset, self.spec.registers["STATUS"].offset):
            self._words[offset] = value

    def wait(self, max_cycles: int | None = None) -> None:
        """Waits for the end of the job and records the job."""
        super().wait(max_cycles)
        if self._before is None:
            return
        after = self.memory.copy()
        self.jobs.append(
            RecordedJob(
                before=self._before,
                words=dict(self._words),
                after=after,
                status=self.read_register(self.spec.registers["STATUS"].offset),
                detail=self.read_register(self.spec.registers["ERROR_DETAIL"].offset),
            )
        )
        self._before = None


def _load(device: RecordingAccelerator, job: RecordedJob) -> JobRegisters:
    device.memory[:] = job.before
    for offset, word in job.words.items():
        device.write_register(offset, word)
    return JobRegisters(device, device.spec)


def replay(device: RecordingAccelerator, job: RecordedJob, scratch: list[Span]) -> None:
    """Run a recorded job again: it must leave the same memory, but for ``scratch``, the same status
    and a quiet bus, over which the bytes went that are counted. Raises Mismatch."""
    registers, before = _load(device, job), device.moved
    counts = registers.run().counts
    found = device.jobs.pop()
    if device.under_way:
        raise Mismatch(f"{device.under_way} bursts are under way at the interrupt")
    ends = (found.status, found.detail), (job.status, job.detail)
    if ends[0] != ends[1]:
        raise Mismatch(f"status and detail {ends[0]}, with another memory {ends[1]}")
    for address, count in scratch:
        found.after[address : address + count] = job.after[address : address + count]
    if not np.array_equal(found.after, job.after):
        wrong = np.flatnonzero(found.after != job.after)
        raise Mismatch(f"{len(wrong)} bytes are not those with another memory, first {wrong[0]:#x}")
    moved = np.subtract(device.moved, before).sum(axis=0).tolist()
    counted = [counts.get("bytes_read", moved[0]), counts.get("bytes_written", moved[1])]
    if moved != counted:
        raise Mismatch(f"over the bus went {moved}, counters: {counts}")


def break_off(device: RecordingAccelerator, job: RecordedJob, cycles: int) -> None:
    """Start a recorded job, and reset the accelerator softly some cycles later. Raises Mismatch if
    it does not become idle."""
    soft_reset_after(device, _load(device, job), cycles)
