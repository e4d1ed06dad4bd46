"""An accelerator in a soak run, with the jobs of a seed."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.registers.job_spec import JobSpec
from tilewright.hw.spec.unit import named_object
from tilewright.registry import Entry
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.kit.job_checks import Mismatch, soft_reset_after
from tilewright.verif.kit.reports import any_behaviour


class ProgressError(ValueError):
    """A file is not of a soak run."""


@dataclass
class UnitProgress:
    """Runs of a design without a fault; ``seed``: the next one; ``seconds``: processor time."""

    design: str
    seed: int = 0
    jobs: int = 0
    cycles: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Cycles per second."""
        return self.cycles / self.seconds if self.seconds else 0.0


@dataclass
class Progress:
    """The units of a file; nothing if it does not exist.

    Raises ProgressError for a file that is not of a soak run.
    """

    path: Path
    units: dict[str, UnitProgress] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        try:
            found: dict[str, Any] = json.loads(self.path.read_text())
            names = {one.name for one in fields(UnitProgress)}
            assert all(set(unit) == names for unit in found.values())
        except (ValueError, AttributeError, TypeError, AssertionError):
            raise ProgressError(f"{self.path} holds no progress of a soak run") from None
        self.units = {name: UnitProgress(**unit) for name, unit in found.items()}

    def of(self, name: str, design: str) -> UnitProgress:
        """Returns the progress of a unit; starts from zero if the file has another design of the
        unit."""
        known = self.units.get(name)
        if known is None or known.design != design:
            known = self.units[name] = UnitProgress(design)
        return known

    def save(self) -> None:
        """Replace the file in one step."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({name: asdict(one) for name, one in self.units.items()}, indent=1)
        partial = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        partial.write_text(text + "\n")
        partial.replace(self.path)


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


_MEMORY_BYTES = 1 << 20
_TIME_OUT = 3_000_000
"""Most cycles of a job, many times those of the longest one on the slowest memory."""
_REPLAYS = 12
_BREAK_OFF = 0.25
"""Share of the replays before which the job is broken off."""


def design_of(emitted: Emitted) -> str:
    """A checksum of the Verilog."""
    return f"{crc32(emitted.verilog.encode()):08x}"


class SoakedUnit:
    """An accelerator of a small configuration, and its memory.

    Parameters
    ----------
    entry: its registration
    emitted: what is simulated, by default what the registration says; for tests
    replays: of each job, whose result the golden model, in Python, computes once
    """

    def __init__(
        self, entry: Entry, emitted: Emitted | None = None, *, replays: int = _REPLAYS
    ) -> None:
        config: Any = entry.small_config
        made = emitted or emit(entry.unit, config)
        self.name, self.design = entry.unit.name, design_of(made)
        self._replays = replays
        self._run = named_object(entry.soak or entry.exercise)
        self._device = RecordingAccelerator(
            entry.unit.job_spec(config),
            made,
            config,
            memory_bytes=_MEMORY_BYTES,
            time_out=_TIME_OUT,
        )

    def close(self) -> None:
        """End the simulation."""
        self._device.close()

    def round(self, seed: int) -> tuple[int, int]:
        """Runs random jobs of a seed. The first of several random memories is compared with the
        golden model, the others with the results of the first. Before some of these runs, a soft
        reset interrupts the job. Returns the numbers of jobs and of cycles.

        Raises AssertionError, `AcceleratorTimeout`, `AxiRuleError` or `JobError` when the
        accelerator does what it must not.
        """
        device = self._device
        rng = np.random.default_rng([crc32(self.name.encode()), seed])
        device.reset()
        device.memory[:] = 0
        device.jobs.clear()
        device.behave(any_behaviour(rng))
        spans = self._run(device, rng)
        scratch: list[Span] = spans if isinstance(spans, list) else []
        recorded = device.jobs[:]
        for job in recorded:
            for _ in range(self._replays):
                device.behave(any_behaviour(rng))
                if rng.random() < _BREAK_OFF:
                    break_off(device, job, int(rng.integers(1, 1500)))
                replay(device, job, scratch)
        return len(recorded) * (1 + self._replays), device.cycles
