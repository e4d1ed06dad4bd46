"""The conformance suite finds what is wrong: the toy, each time with one fault in its Verilog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted
from tilewright.registry import registered
from tilewright.sim.rtl.accelerator import (
    AcceleratorTimeout,
    AxiBehaviour,
    AxiRuleError,
    NativeAccelerator,
)
from tilewright.verif.catalogue.toy.system import SYSTEM
from tilewright.verif.conformance.checks import Conformance, refused_jobs
from tilewright.verif.conformance.recorded import MEMORY_BYTES, Subject, subject
from tilewright.verif.kit.job_checks import Mismatch, check_interrupt
from tilewright.verif.kit.sampling import rng_of, slow_but

_CYCLES = 5000

FOUND = (AssertionError, AcceleratorTimeout, AxiRuleError)

Unit = Conformance[NativeAccelerator[Any]]
Check = Callable[[Unit], object]


def jobs(unit: Unit) -> None:
    for behaviour in (AxiBehaviour(), AxiBehaviour(aw_after_w=True)):
        unit.device.behave(behaviour)
        for job in unit.subject.jobs:
            unit.check_job(job)


def read_errors(unit: Unit) -> None:
    for job in unit.subject.jobs:
        for beat, must, _ in unit.read_beats(job, rng_of(1)):
            unit.device.behave(AxiBehaviour(read_errors={beat: 2}))
            unit.check_failure(job, "bus_read", [beat], must=must)


def write_errors(unit: Unit) -> None:
    job = unit.subject.jobs[0]
    bad = unit.beats(job.outputs[0])
    unit.device.behave(AxiBehaviour(write_errors=dict.fromkeys(bad, 2)))
    unit.check_failure(job, "bus_write", bad, must=True)


def refusals(unit: Unit) -> int:
    return unit.check_refusals(refused_jobs(unit.subject))


def interrupt(unit: Unit) -> None:
    job = unit.subject.jobs[0]
    unit.device.write_memory(0, job.before.tobytes())
    check_interrupt(unit.device, unit.subject.spec, job.registers, 500)


def soft_resets(unit: Unit) -> None:
    job = unit.subject.jobs[-1]
    assert sum(unit.check_reset(job, cycle) for cycle in range(0, 100, 10)) > 0


def busy_registers(unit: Unit) -> None:
    unit.device.behave(AxiBehaviour(latency=(400, 400)))
    unit.check_busy(unit.subject.jobs[0])


FAULTS: dict[str, tuple[str, str, Check]] = {
    "reads whose errors are ignored": (
        r"r__payload\.response\[1\]", "1'h0", read_errors
    ),
    "writes whose errors are ignored": (
        r"b__payload\.response\[1\]", "1'h0", write_errors
    ),
    "an error at another address": (
        r"(error_address <= bursts\S+address) \+.*;", r"\1;", read_errors
    ),
    "counters that go on": (
        r"\.clear\(counters__clear\)", ".clear(1'h0)", jobs
    ),
    "an end that a start does not clear": (
        r"\.status_done_clear\(\w+\)", ".status_done_clear(1'h0)", interrupt
    ),
    "an interrupt that is not enabled": (
        r"registers__ctrl_irq_enable & ", "", interrupt
    ),
    "a soft reset that does nothing": (
        r"\.soft_reset\(control__soft_reset\)", ".soft_reset(1'h0)",
        soft_resets,
    ),
    "a writer that waits for AWREADY": (
        "~queued", "aw__ready", jobs
    ),
    "a rule that is not checked": (
        r"wrong_code = SIZE_LIMIT", "wrong_code = NONE", refusals
    ),
    "a refusal that names another register": (
        r"64'h108", "64'h100", refusals
    ),
    "registers that a job does not keep": (
        r"\bif \(taken\) begin", "if (1'h1) begin",
        busy_registers,
    ),
}  # fmt: skip
"""Pattern in the Verilog, its replacement, and the check of the suite that fails, by name."""


@contextmanager
def toy(old: str = "", new: str = "") -> Iterator[Unit]:
    """The toy with another text in its Verilog."""
    with registered(SYSTEM):
        made: Subject = subject("toy_adder:0")
        emitted = made.emitted()
    verilog = re.sub(old, new, emitted.verilog) if old else emitted.verilog
    assert (verilog == emitted.verilog) == (not old), "the toy has changed"
    spoilt = Emitted(verilog, emitted.sidecar)
    with NativeAccelerator(
        spoilt, made.config, memory_bytes=MEMORY_BYTES, time_out=_CYCLES
    ) as device:
        yield Conformance(made, device)


@pytest.mark.parametrize(
    "fault", slow_but([], FAULTS, ["reads whose errors are ignored", "counters that go on"])
)
def test_a_fault_is_found(fault: str) -> None:
    old, new, check = FAULTS[fault]
    with toy(old, new) as unit, pytest.raises(FOUND):
        check(unit)


@pytest.mark.slow
def test_wrong_bytes_are_found() -> None:
    """Outside of the results, and among them."""
    with toy() as unit:
        job = unit.subject.jobs[0]
        unit.device.behave(AxiBehaviour())
        unit.check_job(job)
        for places, what in (
            (np.flatnonzero(job.written), "a"),
            (np.flatnonzero(~job.written), "no"),
        ):
            unit.run(job)
            place = int(places[len(places) // 2])
            byte = int(unit.content()[place]) ^ 1
            unit.device.write_memory(place, bytes([byte]))
            with pytest.raises(Mismatch, match=f"first {place:#x}, {what} result$"):
                unit.check_memory(job, "a job")
