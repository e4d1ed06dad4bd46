"""Jobs of any accelerator, recorded while its exercise runs on its model.

A recorded job says what registers and memory hold before it, what memory holds afterwards, which
bytes it may write and what it counts: that is all that the checks of the suite need to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.registers.job_spec import JobSpec
from tilewright.hw.spec.unit import named_object
from tilewright.registry import Entry, entries
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.device.protocol import OpenDevice
from tilewright.verif.kit.options import small
from tilewright.verif.kit.sampling import slow_but

MEMORY_BYTES = 1 << 17
"""Size of the memory: the exercises need no more."""

_SEED = 1

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Span = tuple[int, int]
"""Address and bytes."""


@dataclass(frozen=True)
class Job:
    """A job that completes without error.

    Parameters
    ----------
    registers: the job's, by name
    before, after: all of the memory
    written: which bytes of it are results
    spans: places that the driver has filled or that are results, one per array as a rule
    counts: counters that do not depend on time
    """

    registers: Mapping[str, int]
    before: Bytes = field(repr=False)
    after: Bytes = field(repr=False)
    written: Mask = field(repr=False)
    spans: tuple[Span, ...]
    counts: Mapping[str, int]

    @property
    def outputs(self) -> list[Span]:
        """Contiguous results."""
        edges = np.flatnonzero(np.diff(np.r_[False, self.written, False].astype(np.int8)))
        return [(int(a), int(b - a)) for a, b in edges.reshape(-1, 2)]

    @property
    def size(self) -> int:
        """Bytes of all arrays: a measure of how long it takes."""
        return sum(count for _, count in self.spans)


@dataclass(frozen=True)
class Subject:
    """An accelerator in a small configuration, with jobs for it.

    Parameters
    ----------
    name, entry, config, spec: its registration, its configuration and the rules of its jobs
    jobs: those of its exercise, the shortest first
    """

    name: str
    entry: Entry
    config: Any
    spec: JobSpec
    jobs: tuple[Job, ...]

    def emitted(self) -> Emitted:
        """Emits the unit: its Verilog and sidecar."""
        return emit(self.entry.unit, self.config)

    def model(self, memory: Bytes | None = None) -> OpenDevice[Any]:
        """Returns the unit's model with the given content of memory."""
        made: OpenDevice[Any] = named_object(self.entry.models["model"])(self.config, MEMORY_BYTES)
        if memory is not None:
            made.memory[:] = memory
        return made

    def modelled(self, registers: Mapping[str, int], memory: Bytes) -> tuple[JobStatus, Bytes]:
        """Runs a job on the model and returns its status and the memory after it."""
        model = self.model(memory)
        status = JobRegisters(model, self.spec).submit(registers)
        return status, model.memory

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat of the narrowest manager."""
        return int(self.config.data_bits) // 8


class _Recorder:
    """A model for a driver, which notes each job and the bytes that the driver has written."""

    def __init__(self, made: Subject, rng: np.random.Generator) -> None:
        self._subject = made
        self._model = made.model(np.frombuffer(rng.bytes(MEMORY_BYTES), np.uint8))
        self.config, self.memory_bytes = made.config, MEMORY_BYTES
        self.read_register, self.read_memory = self._model.read_register, self._model.read_memory
        self.irq, self.wait = self._model.irq, self._model.wait
        self._rng = rng.spawn(1)[0]
        self._known = np.zeros(MEMORY_BYTES, np.bool_)
        self._filled: list[Span] = []
        self._between = False
        self.jobs: list[Job] = []

    def write_memory(self, address: int, content: bytes) -> None:
        if self._between:
            # Else results may be in memory already, from the job before.
            self._model.memory[:] = np.frombuffer(self._rng.bytes(MEMORY_BYTES), np.uint8)
            self._known[:] = False
            self._between = False
        self._model.write_memory(address, content)
        size = len(memoryview(content).cast("B"))
        self._known[address : address + size] = True
        if size:
            self._filled.append((address, size))

    def write_register(self, offset: int, value: int) -> None:
        control = self._subject.spec.registers["CTRL"]
        starts = offset == control.offset and control.get(value, "start")
        before = self._model.memory.copy() if starts else None
        self._model.write_register(offset, value)
        if before is not None:
            self._note(before)

    def _note(self, before: Bytes) -> None:
        spec = self._subject.spec
        registers = JobRegisters(self._model, spec)
        status = registers.register("STATUS")
        if status.get(registers.read("STATUS"), "error"):
            return
        job = {row.name: registers.read(row.name) for row in spec.job}
        counts = {name: registers.read(name.upper()) for name in spec.counters}
        after = self._model.memory.copy()
        written = self._written(job, before, after)
        results = Job(job, before, after, written, (), counts).outputs
        spans = tuple(dict.fromkeys((*self._filled, *results)))
        self.jobs.append(Job(job, before, after, written, spans, counts))
        self._known |= written
        self._filled = []
        self._between = True

    def _written(self, job: Mapping[str, int], before: Bytes, after: Bytes) -> Mask:
        """Marks the bytes that a job writes: those that change, those that have the same value
        whatever they held, and all of an array that the driver has filled and the job has changed.
        """
        unknown = ~self._known
        _, other = self._subject.modelled(job, np.where(unknown, ~before, before))
        written: Mask = (before != after) | (unknown & (after == other))
        for address, size in self._filled:
            if written[address : address + size].any():
                written[address : address + size] = True
        return written


@cache
def subject(structure: str) -> Subject:
    """An accelerator with the jobs of its exercise, drawn from a fixed seed; see
    :func:`structures`."""
    name, _, number = structure.partition(":")
    entry = entries()[name]
    config = small(entry, ({}, *entry.variants)[int(number)])
    bare = Subject(name, entry, config, entry.unit.job_spec(config), ())
    rng = np.random.default_rng(_SEED)
    recorder = _Recorder(bare, rng)
    named_object(entry.exercise)(recorder, rng)
    jobs = sorted(recorder.jobs, key=lambda job: job.size)
    return Subject(name, entry, config, bare.spec, tuple(_with_timeless(bare.spec, jobs)))


def _with_timeless(spec: JobSpec, jobs: Sequence[Job]) -> list[Job]:
    """The same jobs with those counters alone that the model counts in jobs of their operation: it
    leaves the others zero."""
    selecting = {setting.register for one in spec.operations for setting in one.select}
    select = [row.name for row in spec.job if row.name in selecting]
    counted: dict[tuple[int, ...], set[str]] = {}
    for job in jobs:
        found = counted.setdefault(_operation(job, select), set())
        found |= {name for name, count in job.counts.items() if count}
    return [
        replace(
            job,
            counts={
                name: count
                for name, count in job.counts.items()
                if name in counted[_operation(job, select)]
            },
        )
        for job in jobs
    ]


def _operation(job: Job, select: Sequence[str]) -> tuple[int, ...]:
    return tuple(job.registers[name] for name in select)


def accelerators() -> list[str]:
    """The accelerators that are registered."""
    return [name for name, entry in entries().items() if entry.unit.jobs is not None]


def structures(*more: str) -> list[Any]:
    """Parameters of a test: accelerators with the numbers of their variants, 0 being the small
    configuration, which the quick test takes; the default test takes ``more``, the long test all.
    """
    least = [f"{name}:0" for name in accelerators()]
    every = [
        f"{name}:{number}"
        for name in accelerators()
        for number in range(len(entries()[name].variants) + 1)
    ]
    return slow_but(least, every, more)
