"""Checks that jobs of every accelerator must pass: registers, soft reset, a quiet bus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from math import prod
from typing import Any, Generic, Protocol, TypeVar

from tilewright.hw.spec.registers.job_spec import Check, JobSpec, Rule
from tilewright.hw.spec.registers.register_map import RegisterMap
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.device.protocol import AcceleratorDevice, RegisterError


def _above(check: Check, step: int) -> int:
    """The least multiple of ``step`` that is too large."""
    least = check.number + (check.rule is Rule.AT_MOST)
    return -(-least // step) * step


def _of_register(check: Check, job: Mapping[str, int]) -> Check:
    """The same rule for its register's number alone, the factors being those of a job."""
    times = prod(job.get(name, 0) for name in check.factors)
    return replace(check, number=check.number // times, factors=()) if check.factors else check


_WRONG: dict[Rule, Callable[[Check, int, int], int]] = {
    Rule.ONE_OF: lambda check, value, step: next(n for n in count() if n not in check.choices),
    Rule.NON_ZERO: lambda check, value, step: 0,
    Rule.AT_MOST: lambda check, value, step: _above(check, step),
    Rule.BELOW: lambda check, value, step: _above(check, step),
    Rule.MULTIPLE_OF: lambda check, value, step: value + check.number // 2,
}
"""Functions that return a wrong value from a rule, the register's value in a job that obeys all
rules, and a number that divides that value."""


def wrong_values(spec: JobSpec, job: Mapping[str, int]) -> dict[Check, int]:
    """Returns for every rule that applies to a job a value of its register that breaks only this
    rule.

    A rule that no value of its register breaks is left out.

    Parameters
    ----------
    job: registers, by name, none of which breaks a rule; 0 stands for those that are not there
    """
    valid = [check for check in spec.checks if _counts(spec, check, job)]
    steps: dict[str, int] = {}
    for check in valid:
        if check.rule is Rule.MULTIPLE_OF:
            steps[check.register] = max(steps.get(check.register, 1), check.number)
    found = {}
    for check in valid:
        value = job.get(check.register, 0)
        wrong = _WRONG[check.rule](_of_register(check, job), value, steps.get(check.register, 1))
        fits = not wrong >> spec.registers[check.register].field("value").width
        if fits and (wrong != value or check.rule is Rule.NON_ZERO):
            found[check] = wrong
    return found


def _counts(spec: JobSpec, check: Check, job: Mapping[str, int]) -> bool:
    parts = check.when.parts if check.when else ()
    return all(
        spec.registers[part.register].get(job.get(part.register, 0), part.field) == part.value
        for part in parts
    )


Config = TypeVar("Config", covariant=True)

_RESET_POLLS = 400


class Mismatch(AssertionError):
    """The RTL did not do what it has to."""


class JobRtl(AcceleratorDevice[Config], Protocol[Config]):
    """An accelerator's RTL in either simulator."""

    def irq(self) -> bool:
        """The interrupt line."""

    def run(self, cycles: int) -> None:
        """Let time pass."""

    @property
    def under_way(self) -> int:
        """Bursts of all managers that wait for their last response."""

    @property
    def moved(self) -> list[tuple[int, int]]:
        """Bytes read and written over each manager."""


class Interrupting(AcceleratorDevice[Config], Protocol[Config]):
    """Device, or model, with an interrupt line that can be read."""

    def irq(self) -> bool:
        """The interrupt line."""


class QuietAtEnd(Generic[Config]):
    """The same accelerator, for drivers; `wait` raises Mismatch if a response is outstanding when
    the interrupt arrives."""

    def __init__(self, device: JobRtl[Config]) -> None:
        self._device = device
        self.read_register, self.write_register = device.read_register, device.write_register
        self.read_memory, self.write_memory = device.read_memory, device.write_memory

    @property
    def config(self) -> Config:
        return self._device.config

    @property
    def memory_bytes(self) -> int:
        return self._device.memory_bytes

    def wait(self) -> None:
        self._device.wait()
        _check_quiet(self._device, "at the interrupt")


def _check_quiet(device: JobRtl[Any], when: str) -> None:
    if device.under_way:
        raise Mismatch(f"{device.under_way} bursts are under way {when}")


def register_answers(device: AcceleratorDevice[Any], registers: RegisterMap) -> list[int | str]:
    """Returns the response of every word of the map, and of two words after it, to a read, and to a
    read after a write. No job is started."""
    answers: list[int | str] = []
    # Bit 0 of CTRL would start a job.
    values = {registers["CTRL"].offset: 4}
    for offset in range(0, registers.size + 8, 4):
        try:
            answers.append(device.read_register(offset))
        except RegisterError:
            answers.append("refused")
        try:
            device.write_register(offset, values.get(offset, 0xA5A5_A5A5))
            answers.append(device.read_register(offset))
        except RegisterError:
            answers.append("refused")
    return answers


def check_interrupt(
    device: JobRtl[Any], spec: JobSpec, job: Mapping[str, int], cycles: int
) -> None:
    """Checks when the interrupt is high: after a job that completes without error, within some
    cycles, and after one that fails. Raises Mismatch.

    Parameters
    ----------
    job: the first one's registers
    """
    registers = JobRegisters(device, spec)
    control, status = registers.register("CTRL"), registers.register("STATUS")

    codes = status.field("error_code").mask

    def expect(word: int, irq: bool, when: str) -> None:
        found = registers.read("STATUS"), device.irq()
        if found != (word, irq):
            raise Mismatch(f"status and interrupt {found} {when}, expected {(word, irq)}")

    registers.write_all(job)
    registers.write("CTRL", 0)
    # The code of the job before may still be there.
    expect(registers.read("STATUS") & codes, False, "before a job")
    registers.write("CTRL", control.put(start=1))
    device.run(cycles)
    expect(status.put(done=1), False, "at the end, not enabled")
    registers.write("CTRL", control.put(irq_enable=1))
    expect(status.put(done=1), True, "once it is enabled")
    registers.write("STATUS", status.put(error=1))
    expect(status.put(done=1), True, "after an error was acknowledged that there was not")
    registers.write("STATUS", status.put(done=1))
    expect(0, False, "after the end was acknowledged")
    rule, value = next(iter(wrong_values(spec, job).items()))
    registers.write(rule.register, value)
    registers.write("CTRL", control.put(start=1, irq_enable=1))
    device.wait()
    code = status.put(error_code=spec.code(rule.error))
    expect(code | status.put(error=1), True, "after a job that cannot run")
    registers.write("STATUS", status.put(error=1))
    expect(code, False, "after its error was acknowledged")
    check_restarts(device, spec, job)
    _restart_around_the_end(device, registers, job)


def check_restarts(
    device: Interrupting[Any], spec: JobSpec, job: Mapping[str, int], *, at_once: bool = False
) -> None:
    """Run jobs, good ones and one that cannot run, without an acknowledgement between them. From
    the response to a start on, STATUS, ERROR_DETAIL and the interrupt show nothing of the former
    job; at the interrupt they show the end of the new one only. Raises Mismatch.

    Parameters
    ----------
    job: registers of a job that completes without error, as often as it is run
    at_once: whether jobs are over as soon as they are started, as those of models
    """
    registers = JobRegisters(device, spec)
    control, status = registers.register("CTRL"), registers.register("STATUS")
    start, busy = control.put(start=1, irq_enable=1), status.put(busy=1)
    rule, value = next(iter(wrong_values(spec, job).items()))
    good = status.put(done=1), 0
    bad = (
        status.put(error=1, error_code=spec.code(rule.error)),
        spec.registers[rule.register].offset,
    )
    registers.write_all(job)
    for end in (good, good, bad, bad, good):
        registers.write(rule.register, value if end == bad else job.get(rule.register, 0))
        registers.write("CTRL", start)
        irq, word = device.irq(), registers.read("STATUS")
        ended = (True, end[0])
        allowed = [ended] if at_once else [(False, busy)]
        if end == bad and not at_once:
            # Its check takes two cycles: it may end between the two looks, or before them.
            allowed += [(False, end[0]), ended]
        if (irq, word) not in allowed:
            raise Mismatch(f"interrupt and status {(irq, word)} right after a start, not {allowed}")
        device.wait()
        found = registers.read("STATUS"), registers.read("ERROR_DETAIL")
        if found != end or not device.irq():
            raise Mismatch(f"status and detail {found} at the interrupt, not {end}")
    registers.write("CTRL", control.put(start=1, soft_reset=1, irq_enable=1))
    if (found := (registers.read("STATUS"), device.irq())) != (good[0], True):
        raise Mismatch(f"status and interrupt {found} after a start with a soft reset")
    registers.write("STATUS", good[0])
    if (found := (registers.read("STATUS"), device.irq())) != (0, False):
        raise Mismatch(f"status and interrupt {found} after an acknowledgement")


_LAST_CYCLES, _BEYOND = 16, 4
"""Cycles before the end of a job, and after it, in which it is started again."""
_SWEEPS = 4
"""Most often that it is started in each of them."""


def _restart_around_the_end(
    device: JobRtl[Any], registers: JobRegisters, job: Mapping[str, int]
) -> None:
    """Starts a job a second time in each of the cycles around its end: a start during the job has
    no effect, a later one clears its end. Raises Mismatch.

    Parameters
    ----------
    job: its registers; it takes the same number of cycles whenever it runs
    """
    control, status = registers.register("CTRL"), registers.register("STATUS")
    start, busy, done = (
        control.put(start=1, irq_enable=1), status.put(busy=1), status.put(done=1)
    )  # fmt: skip
    registers.write_all(job)
    registers.write("CTRL", start)
    cycles = 0
    while not device.irq():
        device.run(1)
        cycles += 1
    seen: set[int] = set()
    waits = range(max(0, cycles - _LAST_CYCLES), cycles + _BEYOND)
    # Accesses take a random time: the end may be between two of them all along.
    for number, wait in enumerate(_SWEEPS * [*waits]):
        if number >= len(waits) and seen == {busy, done}:
            break
        registers.write("STATUS", done)
        registers.write("CTRL", start)
        device.run(wait)
        registers.write("CTRL", start)
        word = registers.read("STATUS")
        seen.add(word)
        if word == done:
            # The second start was none: no job follows, and the end is still there.
            device.run(_LAST_CYCLES)
        elif word == busy:
            device.wait()
        if (found := registers.read("STATUS")) != done or not device.irq():
            raise Mismatch(f"status {word:#x}, then {found:#x}, {wait} of {cycles} cycles later")
    if seen != {busy, done}:
        raise Mismatch(f"starts around the end of a job left status {seen}")
    registers.write("STATUS", done)


def started_twice(device: JobRtl[Any], registers: JobRegisters, job: Mapping[str, int]) -> None:
    """Run a slow job to its good end; its registers are cleared meanwhile, and a second start,
    which would end with an error at once, does nothing. Raises Mismatch.

    Parameters
    ----------
    job: its registers
    """
    status = registers.register("STATUS")

    def expect(word: int, when: str) -> None:
        if (found := registers.read("STATUS")) != word:
            raise Mismatch(f"status {found:#x} {when}, expected {word:#x}")

    registers.write_all(job)
    registers.write("CTRL", 1 | 4)
    for name in job:
        registers.write(name, 0)
    expect(status.put(busy=1), "while the job runs")
    registers.write("CTRL", 1 | 4)
    expect(status.put(busy=1), "after a second start")
    device.wait()
    expect(status.put(done=1), "at the end")
    registers.write("STATUS", status.put(done=1))
    device.run(1000)
    expect(0, "long afterwards")


def soft_reset_after(device: JobRtl[Any], registers: JobRegisters, cycles: int) -> bool:
    """Start the job of the registers; a soft reset some cycles later must bring the accelerator
    back to idle, with a quiet bus and without an error.

    Returns whether the job was broken off. Raises Mismatch.
    """
    status, control = registers.register("STATUS"), registers.register("CTRL")
    registers.write("CTRL", control.put(start=1, irq_enable=1))
    device.run(cycles)
    running = bool(status.get(registers.read("STATUS"), "busy"))
    registers.write("CTRL", control.put(soft_reset=1, irq_enable=1))
    for _ in range(_RESET_POLLS):
        word = registers.read("STATUS")
        if not status.get(word, "busy"):
            break
        device.run(20)
    else:
        raise Mismatch(f"busy long after a soft reset, {cycles} cycles after the start")
    _check_quiet(device, f"after a soft reset, {cycles} cycles after the start")
    if status.get(word, "error") or status.get(word, "error_code"):
        raise Mismatch(f"status {word:#x} after a soft reset")
    finished = bool(status.get(word, "done"))
    if not running and not finished:
        raise Mismatch("neither running nor done")
    registers.write("STATUS", status.put(done=1))
    return not finished
