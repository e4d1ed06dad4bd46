"""Registers of designs, the control of a job, and its counters."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.sim import Simulator
from tilewright.hw.spec.jobs.t2s import job_spec
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.t2s.loader import job_layout
from tilewright.hw.t2s.t2s import Counters
from tilewright.sim.t2s.job import Job, job_at
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.job_checks import wrong_values

from ..designs import IN_HARDWARE, bounds_of

pytestmark = pytest.mark.long

MTTKRP = T2sConfig(design="mttkrp", largest=2, managers=2, trip_bits=10)
SPEC = job_spec(MTTKRP)
BASE = {"A": 1 << 34, "B": 4096, "C": 8192, "D": 12288}
JOB = job_at(MTTKRP, {"i": 5, "j": 6, "k": 7, "l": 8}, BASE).registers(MTTKRP)


def test_registers() -> None:
    """Checks the registers of a mapping with a product of three tensors."""
    assert [one.name for one in SPEC.job] == [
        *("TRIPS_I", "TRIPS_J", "TRIPS_K", "TRIPS_L"),
        *("A_BASE", "A_STRIDE_I", "A_STRIDE_K", "A_STRIDE_L"),
        *("B_BASE", "B_STRIDE_J", "B_STRIDE_K", "B_STRIDE_KK"),
        *("C_BASE", "C_STRIDE_J", "C_STRIDE_L"),
        *("D_BASE", "D_STRIDE_I", "D_STRIDE_J"),
    ]
    found = {
        field.name: field.reset
        for register in SPEC.constants
        for field in register.fields
        if field.name != "value"
    }
    assert found == {
        "elements": 4,
        "lanes": 2,
        "beat_bytes": 16,
        "addr_bits": 40,
        "managers": 2,
        "trip_bits": 10,
        "word_bits": 32,
        "sum_bits": 32,
        "images": 4,
    }
    assert SPEC.registers["CONFIG1"].fields[0].reset == 4


@pytest.mark.parametrize("name", IN_HARDWARE)
def test_registers_of_all_designs(name: str) -> None:
    """A job goes through registers and comes back, and has its tiles filled up."""
    config = T2sConfig(design=name, largest=3)
    program, bounds = config.plan.program, bounds_of(IN_HARDWARE[name])
    tensors = [part.tensor for part in (*config.plan.loaders, config.plan.unloader)]
    job = job_at(config, bounds, {one: 64 * n for n, one in enumerate(tensors)})
    values = job.registers(config)
    assert set(values) == {one.name for one in job_spec(config).job}
    assert Job.of_registers(config, values) == job
    filled = job.bounds(program)
    assert all(0 <= filled[one] - bounds[one] < 28 for one in bounds)
    layout = job_layout(config)
    assert {name for name, _ in layout} == {name.lower() for name in values}


TWO_CASES = """
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k = indices("i j k")
A, a = tensor("A", "fp32", i, k), tensor("a", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * a[k, j]].accumulate(stall="allowed")
"""


def test_names_that_registers_cannot_tell_apart(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(TWO_CASES)
    config = T2sConfig(design=str(file))
    with refused(ValueError, "names must differ in more than case: two registers are A_BASE"):
        job_spec(config)


def simulate(part: Any, bench: Callable[[Any], Any]) -> None:
    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


WRONG = wrong_values(SPEC, JOB)


def test_counts() -> None:
    """A plain count of the events in each cycle gives the expected counters of two jobs."""
    part = Counters(MTTKRP)
    rng = random.Random("counts")
    zero = dict.fromkeys(SPEC.counters, 0)
    counted = dict(zero)
    active: list[int] = []

    async def cycle(sim: Any, busy: float) -> None:
        seen = {name: int(rng.random() < busy) for name in ("begins", "wrote")}
        beats, strobe = rng.getrandbits(3), rng.getrandbits(16)
        for name, value in {**seen, "running": 1, "beats": beats, "strobe": strobe}.items():
            sim.set(getattr(part, name), value)
        await sim.tick()
        active.append(seen["begins"])
        counted["cycles"] += 1
        counted["operations"] += seen["begins"]
        counted["bytes_read"] += 16 * beats.bit_count()
        counted["bytes_written"] += seen["wrote"] * strobe.bit_count()

    async def bench(sim: Any) -> None:
        for share in (0.5, 0.05):
            for name in ("running", "begins", "wrote", "beats"):
                sim.set(getattr(part, name), 0)
            await sim.tick().repeat(2)
            counted.update(zero)
            active.clear()
            sim.set(part.clear, 1)
            await sim.tick()
            sim.set(part.clear, 0)
            assert {name: sim.get(getattr(part, name)) for name in zero} == zero
            for _ in range(200):
                await cycle(sim, share)
            for name in ("running", "begins", "wrote", "beats"):
                sim.set(getattr(part, name), 0)
            await sim.tick().repeat(5)
            last = len(active) - active[::-1].index(1)
            counted["busy_cycles"] = sum(active)
            counted["stalls"] = last - active.index(1) - sum(active)
            assert {name: sim.get(getattr(part, name)) for name in zero} == counted

    simulate(part, bench)
