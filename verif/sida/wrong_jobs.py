"""Jobs that are stopped: by an error of the bus, or by a soft reset."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.sim.device.job_registers import JobRegisters, JobStatus
from tilewright.sim.sida.words import WordFault, part_of_words
from tilewright.verif.kit.job_checks import Mismatch, QuietAtEnd, soft_reset_after
from tilewright.verif.sida.jobs import Placed, SidaRtl

__all__ = [
    "beyond_the_model",
    "check_bus_error",
    "check_changed",
    "check_reset",
    "check_wrong_rows",
]


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


def check_wrong_rows(device: SidaRtl, placed: Placed) -> JobStatus:
    """Run a job with something wrong in its matrix by rows: it must end, well or with an error of a
    row, or of a read where they lie outside of memory; what the program does not store must stay as
    it was, but for the scalars. Returns how it ended. Raises Mismatch."""
    watched = QuietAtEnd(device)
    watched.write_memory(0, placed.memory.tobytes())
    found = JobRegisters(watched, job_spec(placed.config)).submit(placed.registers)
    far = found.error == "bus_read" and found.detail >= len(placed.memory)
    rows = found.error.startswith("rows_") and found.detail < placed.registers["ROWS"]
    if found.error != "none" and not far and not rows:
        raise Mismatch(f"{found.error}, detail {found.detail:#x}")
    _check_outside(device, placed)
    return found


class _Changed:
    """A device whose memory changes when so many elements of the job's matrix have come."""

    def __init__(self, device: SidaRtl, elements: int, address: int, content: bytes) -> None:
        self._device, self._elements = device, elements
        self._address, self._content = address, content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def wait(self) -> None:
        registers = JobRegisters(self._device, job_spec(self._device.config))
        while registers.read("ELEMENTS") < self._elements:
            self._device.run(4)
        self._device.write_memory(self._address, self._content)
        self._device.wait()


def check_changed(
    device: SidaRtl, placed: Placed, array: str, content: bytes, elements: int
) -> JobStatus:
    """Run a job during which an array changes, behind so many elements. Returns how it ended.
    Raises Mismatch if the bus is not quiet then."""
    address, _ = placed.spans[array]
    watched: Any = QuietAtEnd(_Changed(device, elements, address, content))  # type: ignore[arg-type]
    watched.write_memory(0, placed.memory.tobytes())
    return JobRegisters(watched, job_spec(placed.config)).submit(placed.registers)


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


def beyond_the_model(placed: Placed) -> bool:
    """Whether a part of the program in memory reads a register that has nothing of this part, so
    that its results are anything, or stores a vector twice, so that bytes are written twice."""
    words = [placed.word("program_base", n) for n in range(placed.registers["WORDS"])]
    entries = {0, placed.registers["ENTRY"]} if placed.registers["SECOND_PRODUCT"] else {0}
    for entry in entries:
        try:
            part = part_of_words(words, entry, placed.config.format).e1
        except WordFault:
            continue
        written = {0}
        stored: list[int] = []
        for one in part:
            if set(one.reads) - written:
                return True
            written |= set(one.of("d"))
            if one.operation.name == "store":
                stored += one.of("v")
        if len(set(stored)) < len(stored):
            return True
    return False


def _check_outside(device: SidaRtl, placed: Placed) -> None:
    content = np.frombuffer(device.read_memory(0, device.memory_bytes), np.uint8)
    changed = content[: len(placed.memory)] != placed.memory
    changed &= ~placed.inside("scalars", *placed.stored)
    if changed.any():
        first = int(np.argmax(changed))
        raise Mismatch(f"{np.count_nonzero(changed)} bytes are not as they were, first {first:#x}")
