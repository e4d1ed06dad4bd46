"""Every accelerator with memories whose READY waits for whatever AXI4 lets it wait for (A3.3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.unit import named_object
from tilewright.registry import entries
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.rtl.accelerator import AcceleratorTimeout, AxiBehaviour, NativeAccelerator
from tilewright.verif.catalogue.toy.system import SYSTEM as TOY
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.job_checks import check_interrupt, soft_reset_after
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

ACCELERATORS = [name for name, entry in entries().items() if entry.unit.jobs is not None]
STRUCTURES = [
    f"{name}:{number}"
    for name in ACCELERATORS
    for number in range(len(entries()[name].variants) + 1)
]
"""Accelerators, and numbers of their variants, 0 being the small one."""
SMALL = [f"{name}:0" for name in ACCELERATORS]
EVERY_STRUCTURE = slow_but(["t2s:0"], STRUCTURES, SMALL)
"""By default the small ones."""

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
Accelerator = tuple[str, NativeAccelerator[Any]]

MEMORY_BYTES = 1 << 18
CYCLES = 300_000
"""Many times what a job of the exercises takes."""


@cache
def built(structure: str) -> tuple[Emitted, Any]:
    """A structure, and its configuration."""
    name, number = structure.split(":")
    entry = entries()[name]
    config = entry.unit.config(**{**entry.small, **({}, *entry.variants)[int(number)]})
    return emit(entry.unit, config), config


@pytest.fixture(scope="module")
def accelerator(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    """One with a memory, and its name."""
    made, config = built(request.param)
    with NativeAccelerator(made, config, memory_bytes=MEMORY_BYTES, time_out=CYCLES) as device:
        yield request.param.split(":")[0], device


def exercise(device: NativeAccelerator[Any], name: str, seed: int) -> None:
    """Jobs of every kind, the results of which are right, and a bus that owes nothing."""
    assert named_object(entries()[name].exercise)(device, rng_of(seed))
    assert device.under_way == 0
    assert device.faults == []


@pytest.mark.parametrize("accelerator", EVERY_STRUCTURE, indirect=True)
def test_jobs(accelerator: Accelerator) -> None:
    """With each of the memories, and with some that are drawn."""
    name, device = accelerator
    for seed, memory in enumerate(MEMORIES.values()):
        device.behave(memory)
        exercise(device, name, seed)
    for seed in range(by_size(0, 3, 100)):
        device.behave(any_behaviour(rng_of(seed)))
        exercise(device, name, seed)


@pytest.mark.parametrize("accelerator", EVERY_STRUCTURE, indirect=True)
def test_soft_resets(accelerator: Accelerator) -> None:
    """In the middle of a job, whose registers the exercise before has left: busy falls, and the
    next jobs are right."""
    name, device = accelerator
    registers = JobRegisters(device, entries()[name].unit.job_spec(device.config))
    waits = {key: MEMORIES[key] for key in ("aw_after_w", "w_after_aw", "all")}
    broken_off = 0
    for number, (key, memory) in enumerate(waits.items()):
        device.behave(memory)
        exercise(device, name, number)
        rng = rng_of(number)
        for cycles in rng.integers(1, 120, by_size(3, 8, 100)).tolist():
            broken_off += soft_reset_after(device, registers, cycles)
            assert device.under_way == 0, (key, cycles)
        exercise(device, name, number)
    assert broken_off


@pytest.mark.parametrize("accelerator", SMALL, indirect=True)
def test_restarts(accelerator: Accelerator) -> None:
    """The interrupt, and starts in each cycle around the end of a job, which the exercise before
    has left in the registers."""
    name, device = accelerator
    spec = entries()[name].unit.job_spec(device.config)
    device.behave(AxiBehaviour())
    exercise(device, name, 0)
    registers = JobRegisters(device, spec)
    job = {row.name: registers.read(row.name) for row in spec.job if row.access == "rw"}
    check_interrupt(device, spec, job, 20_000)


def test_a_writer_that_waits_for_awready_is_found() -> None:
    """A toy whose writer hands the length of a burst on with the address's transfer, as ours once
    did: it works with most memories, and hangs with one that waits for WVALID."""
    [entry] = TOY.entries
    made = emit(entry.unit, entry.small_config)
    old = "~queued"
    assert made.verilog.count(old) == 1, "the writer has changed"
    line = next(line for line in made.verilog.splitlines() if old in line)
    broken = Emitted(made.verilog.replace(line, line.replace(old, "aw__ready")), made.sidecar)
    exercise_toy = named_object(entry.exercise)
    config: Any = entry.small_config
    with NativeAccelerator(broken, config, memory_bytes=1 << 16, time_out=10_000) as device:
        assert exercise_toy(device, rng_of(0))
        device.behave(AxiBehaviour(w_after_aw=True))
        assert exercise_toy(device, rng_of(1))
        device.behave(AxiBehaviour(aw_after_w=True))
        with pytest.raises(AcceleratorTimeout):
            exercise_toy(device, rng_of(2))
