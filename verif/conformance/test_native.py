"""Every accelerator that is registered does what its jobs promise: its RTL at native speed, in
small configurations, one build each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.unit import named_object
from tilewright.registry import entries
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.device.model import first_broken
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.conformance.checks import Conformance, refused_jobs
from tilewright.verif.conformance.limits import (
    Limits,
    all_named,
    breakable,
    changed_parameters,
    changed_rules,
    parameter_complaints,
    range_complaints,
    rule_complaints,
)
from tilewright.verif.conformance.recorded import MEMORY_BYTES, accelerators, structures, subject
from tilewright.verif.kit.far_memory import FarAccelerator
from tilewright.verif.kit.job_checks import check_interrupt
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, rng_of

pytestmark = pytest.mark.quick

Unit = Conformance[NativeAccelerator[Any]]

MEMORIES = {
    "aw_after_w": AxiBehaviour(aw_after_w=True),
    "w_after_aw": AxiBehaviour(w_after_aw=True),
    "ready_after_valid": AxiBehaviour(ready_after_valid=True),
    "one_read": AxiBehaviour(one_read=True, latency=(1, 20)),
    "late_responses": AxiBehaviour(write_latency=(200, 400)),
    "interleaved": AxiBehaviour(mixed=True, latency=(1, 60)),
    "data_first": AxiBehaviour(register_order="data", register_stall=0.3),
    "address_first": AxiBehaviour(register_order="address", register_stall=0.3),
    "all": AxiBehaviour(
        aw_after_w=True,
        w_after_aw=True,
        ready_after_valid=True,
        one_read=True,
        mixed=True,
        latency=(1, 20),
        write_latency=(1, 100),
        stall=0.3,
    ),
}
"""Memories whose READY waits for everything that AXI4 allows (A3.3.1), and others."""

_VARIANTS = ("engine_simd2:6", "matraptor:6", "matraptor:9", "t2s:5")
"""Three managers, outer products, a cache, a sparse matrix. One manager in place of two is what the
lists of ``verif/gta`` run on."""

_CYCLES = 300_000
"""Many times what a job of an exercise takes."""

_ADDRESSES_IN_MEMORY = ("gta", "tensaurus")
"""Accelerators whose lists hold addresses; the memory of the others is at high ones."""


@pytest.fixture(scope="module", params=structures(*_VARIANTS))
def unit(request: pytest.FixtureRequest) -> Iterator[Unit]:
    made = subject(request.param)
    settings: dict[str, Any] = {"memory_bytes": MEMORY_BYTES, "time_out": _CYCLES}
    emitted, config = made.emitted(), made.config
    device: NativeAccelerator[Any]
    if made.name in _ADDRESSES_IN_MEMORY:
        device = NativeAccelerator(emitted, config, **settings)
    else:
        device = FarAccelerator(emitted, config, made.spec, config.addr_bits, **settings)
    with device:
        yield Conformance(made, device)


@contextmanager
def plain_registers(device: NativeAccelerator[Any]) -> Iterator[None]:
    """Leaves the registers' values as they are, whatever the memory's addresses."""
    if isinstance(device, FarAccelerator):
        device.translates = False
    yield
    if isinstance(device, FarAccelerator):
        device.translates = True


def begin(unit: Unit, seed: int, **behaviour: Any) -> np.random.Generator:
    """A reset, a memory, and random numbers."""
    unit.device.reset()
    unit.device.behave(AxiBehaviour(**behaviour))
    return rng_of(seed)


def reads_of(unit: Unit) -> set[str]:
    """Returns the registers with addresses that jobs read, from the table of the system, which
    holds for the small configuration."""
    limits: Limits = named_object(unit.subject.entry.limits)
    return set(limits.reads) if unit.subject.config == unit.subject.entry.small_config else set()


def test_registers(unit: Unit) -> None:
    """Right after a reset, and after a job."""
    begin(unit, 1)
    with plain_registers(unit.device):
        unit.check_answers()
        unit.device.reset()
        unit.check_answers()


def test_jobs_on_any_memory(unit: Unit) -> None:
    """Results, all else of the memory, counters, bytes over the bus, a quiet bus at the end."""
    rng = begin(unit, 2)
    some = by_size([MEMORIES["all"]], [*MEMORIES.values()], [*MEMORIES.values()])
    drawn = (any_behaviour(rng) for _ in range(by_size(1, 3, 100)))
    for behaviour in (AxiBehaviour(), *some, *drawn):
        unit.device.behave(behaviour)
        for job in unit.subject.jobs:
            unit.check_job(job)


def test_counters_are_of_one_job(unit: Unit) -> None:
    """Jobs in another order, and a refused one between them, count the same again."""
    begin(unit, 3, latency=(20, 20))
    jobs = unit.subject.jobs
    first = [unit.check_job(job).counts for job in jobs]
    again = [unit.check_job(job).counts for job in reversed(jobs)][::-1]
    for one, two in zip(first, again, strict=True):
        # Requesters take turns: who comes first depends on who had the last turn.
        assert abs(one["cycles"] - two["cycles"]) <= 20


def test_jobs_that_cannot_run(unit: Unit) -> None:
    """Each rule that a value of its register can break."""
    begin(unit, 4)
    spec = unit.subject.spec
    rules = [check for check in spec.checks if breakable(spec, check)]
    assert set(rules) == set(refused_jobs(unit.subject))
    assert unit.check_refusals(rules) == len(rules)


def test_jobs_that_break_several_rules(unit: Unit) -> None:
    """The first broken rule is reported, whatever bits of the registers break it."""
    rng = begin(unit, 10)
    spec, device = unit.subject.spec, unit.device
    registers = JobRegisters(device, spec)
    names = sorted({check.register for check in spec.checks})
    widths = {name: spec.registers[name].field("value").width for name in names}
    # Each bit of each register, and random ones of several.
    flips = [{name: 1 << bit} for name in names for bit in range(widths[name])]
    order = rng.permutation(len(flips))[: by_size(100, 300, len(flips))]
    flips = [flips[number] for number in order.tolist()]
    for _ in range(by_size(20, 100, 1000)):
        some = rng.choice(names, int(rng.integers(2, 4))).tolist()
        flips.append({name: 1 << int(rng.integers(widths[name])) for name in some})
    count = 0
    for number, flip in enumerate(flips):
        job = unit.subject.jobs[number % len(unit.subject.jobs)]
        values = {row.name: 0 for row in spec.job} | dict(job.registers)
        for name, bits in flip.items():
            values[name] = 0 if rng.integers(8) == 0 else values[name] ^ bits
        broken = first_broken(spec, values)
        if broken is None:
            continue
        status = registers.submit(values)
        wanted = broken.error, spec.registers[broken.register].offset
        assert (status.error, status.detail) == wanted, values
        count += 1
    assert count > 10
    unit.check_next("jobs that break several rules")


def test_interrupt(unit: Unit) -> None:
    """Checks when the interrupt is high, and starts jobs without acknowledgement in each cycle
    around the end of one."""
    begin(unit, 5)
    job = unit.subject.jobs[0]
    cycles = unit.check_job(job).counts["cycles"]
    unit.device.write_memory(0, job.before.tobytes())
    check_interrupt(unit.device, unit.subject.spec, job.registers, 2 * cycles + 200)
    unit.check_next("starts around an end")


def test_registers_are_free_while_a_job_runs(unit: Unit) -> None:
    for number, job in enumerate(unit.subject.jobs[:: by_size(4, 2, 1)]):
        begin(unit, number, latency=(400, 400))
        unit.check_busy(job)


@pytest.mark.slow
def test_read_errors(unit: Unit) -> None:
    """Injects each error response in a beat of each array that jobs read; every reader meets
    some."""
    rng, met = begin(unit, 6), set[str]()
    for number, job in enumerate(unit.subject.jobs * by_size(1, 1, 10)):
        for place, (beat, must, names) in enumerate(unit.read_beats(job, rng)):
            response = 2 + (number + place) % 2
            unit.device.behave(any_behaviour(rng, read_errors={beat: response}))
            met |= names if unit.check_failure(job, "bus_read", [beat], must=must) else set()
            unit.device.behave(any_behaviour(rng))
            unit.check_next(f"a read error at {beat:#x}", place)
    assert met >= reads_of(unit)


def test_write_errors(unit: Unit) -> None:
    """Injects each error response in a burst of each array that jobs write; EXOKAY is not an
    error."""
    rng = begin(unit, 7)
    for number, job in enumerate(unit.subject.jobs * by_size(1, 1, 10)):
        for place, span in enumerate(job.outputs):
            bad = unit.beats(span)
            response = 2 + (number + place) % 2
            unit.device.behave(any_behaviour(rng, write_errors=dict.fromkeys(bad, response)))
            unit.check_failure(job, "bus_write", bad, must=True)
            unit.device.behave(any_behaviour(rng, write_errors=dict.fromkeys(bad, 1)))
            assert unit.run(job).error == "none"
            unit.check_outside(job, "EXOKAY")
            some = rng.permutation(bad)[: int(rng.integers(1, 4))].tolist()
            unit.device.behave(any_behaviour(rng, write_errors=dict.fromkeys(some, response)))
            unit.check_failure(job, "bus_write", some, must=False)
            unit.device.behave(any_behaviour(rng))
            unit.check_next(f"a write error at {bad[0]:#x}", place)


@pytest.mark.slow
def test_arrays_behind_the_memory(unit: Unit) -> None:
    """Each address of a job leads there, one by one; all readers meet an error."""
    rng, failed = begin(unit, 9), set[str]()
    for number, job in enumerate(unit.subject.jobs):
        unit.device.behave(any_behaviour(rng))
        starts = {address for address, _ in job.spans}
        names = [row.name for row in unit.subject.spec.job if row.bits == 64]
        used = {name for name in names if job.registers[name] in starts and "STRIDE" not in name}
        for name in sorted(used - by_size(failed, failed, set())):
            if unit.check_beyond(job, name):
                failed.add(name)
                unit.check_next(f"{name} behind the memory", number)
    assert failed >= reads_of(unit)


def test_soft_reset_in_any_cycle(unit: Unit) -> None:
    """Resets a short job in many cycles on a memory that answers at once, and any job on any
    memory."""
    rng = begin(unit, 8)
    job, stopped = unit.subject.jobs[0], 0
    cycles = rng.permutation(unit.check_job(job).counts["cycles"] + 4)
    count = by_size(20, 40, len(cycles))
    for cycle in cycles[:count].tolist():
        stopped += unit.check_reset(job, cycle)
        unit.check_next(f"a soft reset in cycle {cycle}", cycle)
    assert stopped > min(count, len(cycles)) // 2
    stopped = 0
    for number in range(by_size(8, 16, 200)):
        unit.device.behave(any_behaviour(rng))
        job = unit.subject.jobs[number % len(unit.subject.jobs)]
        stopped += unit.check_reset(job, int(rng.integers(300)))
        unit.check_next("a soft reset", number)
    assert stopped


# Units accept and refuse the values that handwritten tables list, and some row of a table covers
# every rule of jobs and every range of a parameter.

TABLES = [name for name, entry in entries().items() if entry.limits]


def table(name: str) -> Limits:
    """The table of a unit."""
    found: Limits = named_object(entries()[name].limits)
    return found


def test_every_unit_has_a_table() -> None:
    assert [*entries()] == TABLES


@pytest.mark.parametrize("name", TABLES)
def test_parameters(name: str) -> None:
    unit, limits = entries()[name].unit, table(name)
    assert all_named(limits, unit)
    assert parameter_complaints(limits, unit.config) == []


@pytest.mark.parametrize("name", TABLES)
def test_every_change_of_a_range_is_found(name: str) -> None:
    changes = list(changed_parameters(entries()[name].unit.config))
    missed = [what for what, *one in changes if not range_complaints(table(name), *one)]
    print(f"{len(changes)} changes of ranges")
    assert missed == []


@pytest.mark.parametrize("name", accelerators())
def test_rules_of_jobs(name: str) -> None:
    """Accepts the rules as they are, and finds each changed rule wrong."""
    entry, limits = entries()[name], table(name)
    spec = entry.unit.job_spec(entry.unit.config(**{**entry.small, **limits.config}))
    assert list(rule_complaints(limits, spec)) == []
    changes = list(changed_rules(spec))
    print(f"{len(changes)} changes of {len(spec.checks)} rules")
    missed = [
        what
        for what, register, changed in changes
        if next(rule_complaints(limits, changed, register), None) is None
    ]
    assert missed == []
