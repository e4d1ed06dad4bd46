"""Jobs that are stopped: by an error of the bus, or by a soft reset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.jobs.sida import WINDOW_BASES, job_spec
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.sida.images import MatrixFault, first_fault
from tilewright.sim.sida.model import WordFault, part_of_words
from tilewright.verif.kit.job_checks import Mismatch, QuietAtEnd, soft_reset_after
from tilewright.verif.sida.jobs import Placed, SidaRtl, check_job


def check_bus_error(
    device: SidaRtl, placed: Placed, error: str, where: npt.NDArray[np.bool_]
) -> JobStatus:
    """Runs a job that must end with ``error`` at an address of ``where``; memory that it does not
    write must not change. Returns how it ended. Raises Mismatch."""
    watched = QuietAtEnd(device)
    watched.write_memory(0, placed.memory.tobytes())
    found = JobRegisters(watched, job_spec(placed.config)).submit(placed.registers)
    there = found.detail < len(where) and bool(where[found.detail])
    if found.error != error or not there:
        raise Mismatch(f"{found.error}, detail {found.detail:#x}, expected {error}")
    _check_outside(device, placed)
    return found


def check_wrong_columns(device: SidaRtl, placed: Placed) -> JobStatus:
    """Checks a job, as :func:`check_job` does, whose matrix has a fault by columns. If the columns
    alone are a valid matrix that differs from the rows, the job may end with ``disagree`` and a
    panel that differs. Returns how it ended. Raises Mismatch."""
    found = check_job(device, placed, disagree=True)
    if found.error == "disagree":
        panel, place = divmod(found.detail, placed.config.subtensor)
        if place or not _differs(placed, panel):
            raise Mismatch(f"disagree, row {found.detail}, whose panel is the same by rows")
        _check_outside(device, placed)
    return found


def check_wrong_rows(device: SidaRtl, placed: Placed) -> JobStatus:
    """Runs a job with a fault in its matrix by rows. It must end: without error if not all panels
    were read or none is wrong; otherwise with the first error of a panel, with a difference from
    the columns, or with a read outside of memory. Memory that the program does not store must not
    change, except for the scalars. Returns how it ended. Raises Mismatch."""
    watched = QuietAtEnd(device)
    watched.write_memory(0, placed.memory.tobytes())
    found = JobRegisters(watched, job_spec(placed.config)).submit(placed.registers)
    faults = _row_faults(placed)
    if found.error == "none":
        panels = -(-placed.registers["ROWS"] // placed.config.subtensor)
        right = found.counts["lost"] < panels * found.counts["passes_done"] or not any(
            fault or _differs(placed, panel) for panel, fault in faults.items()
        )
    elif found.error == "bus_read":
        right = found.detail >= len(placed.memory)
    elif found.error == "disagree":
        panel, place = divmod(found.detail, placed.config.subtensor)
        right = not place and faults[panel] is None and _differs(placed, panel)
    else:
        expected = MatrixFault(found.error.removeprefix("rows_"), found.detail)
        panel = found.detail // placed.config.subtensor
        right = found.error.startswith("rows_") and faults.get(panel, expected) == expected
    if not right:
        raise Mismatch(f"{found.error}, detail {found.detail:#x}: {faults}")
    _check_outside(device, placed)
    return found


def _row_faults(placed: Placed) -> dict[int, MatrixFault | None]:
    """Returns the faults of panels that are read by rows, except those that depend on memory after
    the arrays."""
    size, pes, step = placed.registers["ROWS"], placed.config.pes, placed.config.subtensor
    pointers = _words(placed, "row_pointers")
    columns = _words(placed, "column_numbers")
    found = {}
    for begin in range(0, size, step):
        part = pointers[begin : begin + step + 1]
        ends, some = part - part[0], columns[part[0] :]
        bad = first_fault(ends, None, pes)
        looked_at = bad.column // pes * pes if bad else step
        if looked_at == 0 or part[: looked_at + 1].max() <= len(columns):
            fault = first_fault(ends, some, pes, size)
            found[begin // step] = fault and MatrixFault(fault.error, begin + fault.column)
    return found


def _differs(placed: Placed, panel: int) -> bool:
    """Returns whether the late elements of a panel, whose rows are valid, differ by rows."""
    size, step = placed.registers["ROWS"], placed.config.subtensor
    value = placed.config.format.bits // 8

    def elements(ends: str, others: str, values: str) -> Iterator[tuple[int, int, int]]:
        pointers, inner = _words(placed, ends).tolist(), _words(placed, others).tolist()
        owners = range(panel * step, min(size, panel * step + step))
        for owner in owners if ends == "row_pointers" else range(size):
            for at in range(pointers[owner], pointers[owner + 1]):
                yield owner, inner[at], placed.word(values, at, value)

    by_columns = elements("column_pointers", "row_numbers", "column_values")
    columns = {(i, j, v) for j, i, v in by_columns if i // step == panel}
    rows = set(elements("row_pointers", "column_numbers", "row_values"))
    late = (panel + 2) * step
    return {x for x in columns if x[1] < late} != {x for x in rows if x[1] < late}


def _words(placed: Placed, array: str) -> npt.NDArray[np.int64]:
    first, size = placed.spans[array]
    return placed.memory[first : first + size].view("<u4").astype(np.int64)


class _Changed:
    """A device whose memory changes after a given number of elements of the job's matrix."""

    def __init__(self, device: SidaRtl, elements: int, address: int, content: bytes) -> None:
        self._device, self._elements = device, elements
        self._address, self._content = address, content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def wait(self) -> None:
        registers = JobRegisters(self._device, job_spec(self._device.config))
        for _ in range(1 << 16):
            if registers.read("ELEMENTS") >= self._elements:
                break
            self._device.run(4)
        else:
            raise Mismatch(f"no {self._elements} elements came")
        self._device.write_memory(self._address, self._content)
        self._device.wait()


def check_changed(
    device: SidaRtl, placed: Placed, array: str, content: bytes, elements: int
) -> JobStatus:
    """Runs a job during which an array changes, after a given number of elements. Returns how it
    ended. Raises Mismatch if the bus is not quiet then."""
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


def check_restarts(device: SidaRtl, placed: Placed, rng: np.random.Generator) -> None:
    """Starts and soft resets at any time, also together and while one is waited for: in the end the
    accelerator must be idle, with a quiet bus and without an error. Raises Mismatch."""
    device.write_memory(0, placed.memory.tobytes())
    registers = JobRegisters(device, job_spec(placed.config))
    status, control = registers.register("STATUS"), registers.register("CTRL")
    registers.write_all(placed.registers)
    registers.write("CTRL", control.put(start=1))
    for most in (600, 6, 40, 6, 40):
        device.run(int(rng.integers(most)))
        reset, start = (int(rng.integers(2)) for _ in range(2))
        registers.write("CTRL", control.put(soft_reset=reset, start=start))
    for _ in range(1000):
        word = registers.read("STATUS")
        if not status.get(word, "busy"):
            break
        device.run(400)
    if word & ~status.put(done=1) or device.under_way:
        raise Mismatch(f"status {word:#x}, {device.under_way} bursts under way")
    registers.write("STATUS", status.put(done=1))
    _check_outside(device, placed)


def beyond_the_model(placed: Placed) -> bool:
    """Returns whether a part of the program in memory reads a register that this part has not
    written, so that its results are undefined, or stores a vector twice."""
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
    kept = (name for name in WINDOW_BASES if name in placed.spans)
    changed &= ~placed.inside("scalars", *placed.stored, *kept)
    if changed.any():
        first = int(np.argmax(changed))
        raise Mismatch(f"{np.count_nonzero(changed)} bytes are not as they were, first {first:#x}")
