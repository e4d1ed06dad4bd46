"""Checks jobs of any accelerator, on its RTL in any simulator. All checks raise Mismatch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from tilewright.hw.spec.registers.job_spec import Check
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.device.model import first_broken
from tilewright.verif.conformance.recorded import MEMORY_BYTES, Bytes, Job, Span, Subject
from tilewright.verif.kit.job_checks import (
    JobRtl,
    Mismatch,
    QuietAtEnd,
    register_answers,
    soft_reset_after,
    started_twice,
    wrong_values,
)

Device = TypeVar("Device", bound=JobRtl[Any])


def refused_jobs(made: Subject) -> dict[Check, dict[str, int]]:
    """Returns for each breakable rule the registers of a job that breaks it first. They are those
    of a recorded job, with the fields of the rule's condition set."""
    found: dict[Check, dict[str, int]] = {}
    for check in made.spec.checks:
        for job in made.jobs:
            registers = dict(job.registers)
            for part in check.when.parts if check.when else ():
                row = made.spec.registers[part.register]
                field = row.field(part.field)
                kept = registers[part.register] & ~field.mask
                registers[part.register] = kept | part.value << field.low
            value = wrong_values(made.spec, registers).get(check)
            if value is None:
                continue
            registers[check.register] = value
            first = first_broken(made.spec, registers)
            if first is not None and (first.register, first.error) == (check.register, check.error):
                found[check] = registers
                break
    return found


class Conformance(Generic[Device]):
    """The checks on one device.

    Parameters
    ----------
    subject: the accelerator, whose device it is
    device: its RTL, with a memory of ``MEMORY_BYTES``
    """

    def __init__(self, subject: Subject, device: Device) -> None:
        self.subject, self.device = subject, device
        self.registers = JobRegisters(device, subject.spec)

    def content(self) -> Bytes:
        """Content of the whole memory."""
        return np.frombuffer(self.device.read_memory(0, MEMORY_BYTES), np.uint8)

    def run(self, job: Job, registers: Mapping[str, int] | None = None) -> JobStatus:
        """Run a job, or one with other registers, on its memory; the bus is quiet at the end."""
        self.device.write_memory(0, job.before.tobytes())
        quiet = QuietAtEnd(self.device)
        return JobRegisters(quiet, self.subject.spec).submit(registers or job.registers)

    def check_answers(self) -> None:
        """Every word of the register map answers as the model's: reads, writes and refusals."""
        registers = self.subject.spec.registers
        found = register_answers(self.device, registers)
        if found != register_answers(self.subject.model(), registers):
            raise Mismatch("registers do not answer as the model's")
        if found[-4:] != ["refused"] * 4:
            raise Mismatch("offsets after the last register are not refused")

    def check_memory(self, job: Job, when: str) -> None:
        """Memory holds the results, and all else as before the job."""
        wrong = np.flatnonzero(self.content() != job.after)
        if len(wrong):
            what = "a result" if job.written[wrong[0]] else "no result"
            raise Mismatch(f"{when}: {len(wrong)} bytes differ, first {wrong[0]:#x}, {what}")

    def check_outside(self, job: Job, when: str) -> None:
        """Memory holds what it held before the job, but for the results."""
        wrong = np.flatnonzero((self.content() != job.before) & ~job.written)
        if len(wrong):
            raise Mismatch(f"{when}: {len(wrong)} bytes outside of the results, {wrong[0]:#x}")

    def check_job(self, job: Job, when: str = "a job") -> JobStatus:
        """A job completes, leaves its results, and counts what it did and what went over the
        bus."""
        before = self.device.moved
        status = self.run(job)
        if status.error != "none":
            raise Mismatch(f"{when}: {status.error}, {status.where}")
        self.check_memory(job, when)
        counted = {name: status.counts[name] for name in job.counts}
        if counted != job.counts:
            raise Mismatch(f"{when}: {counted} are counted, not {job.counts}")
        moved = np.subtract(self.device.moved, before).sum(axis=0).tolist()
        over = [status.counts.get(name) for name in ("bytes_read", "bytes_written")]
        if None not in over and over != moved:
            raise Mismatch(f"{when}: bytes {moved} went over the bus, {over} are counted")
        return status

    def check_next(self, when: str, number: int = 0) -> None:
        """The next job is not affected."""
        jobs = self.subject.jobs[:2]
        self.check_job(jobs[number % len(jobs)], f"the job after {when}")

    def check_refusals(self, rules: Iterable[Check]) -> int:
        """A job that breaks a rule ends with its error and the offset of its register, and reads
        and writes nothing. Returns the number of the jobs."""
        spec, count = self.subject.spec, 0
        job = self.subject.jobs[0]
        cases = refused_jobs(self.subject)
        for check in rules:
            when = f"{check.register} that breaks {check.rule.name} {check.number}"
            moved = self.device.moved
            status = self.run(job, cases[check])
            wanted = check.error, spec.registers[check.register].offset
            if (status.error, status.detail) != wanted:
                raise Mismatch(f"{when}: {status.error}, {status.where}; expected {wanted}")
            if any(count for name, count in status.counts.items() if name != "cycles"):
                raise Mismatch(f"{when}: {status.counts} are counted")
            if self.device.moved != moved:
                raise Mismatch(f"{when}: something went over the bus")
            if not np.array_equal(self.content(), job.before):
                raise Mismatch(f"{when}: memory has changed")
            count += 1
        self.check_next("refusals")
        return count

    def check_busy(self, job: Job) -> None:
        """A job, on a slow memory, works on what its registers held at its start; a second start
        does nothing."""
        self.device.write_memory(0, job.before.tobytes())
        started_twice(self.device, self.registers, job.registers)
        self.check_memory(job, "registers that change while a job runs")

    def check_reset(self, job: Job, cycles: int) -> bool:
        """A soft reset some cycles after a job's start. Returns whether it broke the job off."""
        self.device.write_memory(0, job.before.tobytes())
        self.registers.write_all(job.registers)
        stopped = soft_reset_after(self.device, self.registers, cycles)
        self.check_outside(job, f"a soft reset after {cycles} cycles")
        return stopped

    def check_failure(self, job: Job, error: str, where: Iterable[int], *, must: bool) -> bool:
        """A job, on a memory that fails at some addresses, ends with the error and one of them; or
        as always, unless it must meet them. Returns whether it has met them."""
        bad = set(where)
        if getattr(self.subject.config, "cache_bytes", 0):
            # A read of a cached block fails as a whole, at the block.
            bad |= {address & -self.subject.config.interleave for address in bad}
        status = self.run(job)
        when = f"{error} at {min(bad):#x}"
        if status.error == "none" and not must:
            self.check_memory(job, when)
            return False
        if status.error != error or status.detail not in bad:
            raise Mismatch(f"{when}: {status.error}, {status.where}")
        self.check_outside(job, when)
        return True

    def check_beyond(self, job: Job, register: str) -> bool:
        """A job with an address after the memory ends with a bus error there or, if it does not
        access it, as usual. Returns whether it failed."""
        status = self.run(job, {**job.registers, register: MEMORY_BYTES})
        when = f"{register} behind the memory"
        if status.error == "none":
            self.check_memory(job, when)
            return False
        if not status.error.startswith("bus") or status.detail < MEMORY_BYTES:
            raise Mismatch(f"{when}: {status.error}, {status.where}")
        self.check_outside(job, when)
        return True

    def beats(self, span: Span) -> range:
        """The addresses of the beats of an array."""
        beat = self.subject.beat_bytes
        return range(span[0] // beat * beat, span[0] + span[1], beat)

    def matters(self, job: Job, beat: int) -> bool:
        """Returns whether a job on the model has other results if the content of a beat changes."""
        flipped = np.zeros(MEMORY_BYTES, np.uint8)
        flipped[beat : beat + self.subject.beat_bytes] = 0x15
        try:
            status, after = self.subject.modelled(job.registers, job.before ^ flipped)
        except ValueError:
            # Some models refuse operands that cannot be, whether a job looks at them or not.
            return False
        expected = np.where(job.written, job.after, job.after ^ flipped)
        return status.error == "none" and not np.array_equal(after, expected)

    def read_beats(self, job: Job, rng: np.random.Generator) -> list[tuple[int, bool, set[str]]]:
        """A beat of each array of a job, whether the job must read it, and the registers that hold
        the array's address."""
        spec, found = self.subject.spec, []
        for span in job.spans:
            drawn = [int(n) for n in rng.permutation(self.beats(span))[:4]]
            used = next((beat for beat in drawn if self.matters(job, beat)), None)
            names = {name for name, value in job.registers.items() if value == span[0]}
            names = {name for name in names if spec.registers[name].bits == 64}
            found.append((drawn[0] if used is None else used, used is not None, names))
        return found
