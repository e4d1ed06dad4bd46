"""The cycle model as a device, and by itself: memories, clocks, counters that tell no time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.spec.jobs.t2s import job_spec
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.t2s.cycles import machine
from tilewright.sim.t2s.cycles.machine import T2sCycles, bound, counts_of, run_job
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.job import job_at
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.timing.bound_broken import BoundBroken
from tilewright.sim.timing.memories import FLAT, HBM, HBM_32
from tilewright.verif.kit.sampling import cases

from ..unit.jobs import random_case

pytestmark = pytest.mark.slow

CONFIG = T2sConfig(largest=2, format="int8", outstanding=4)
BOUNDS = {"i": 37, "j": 41, "k": 53}


def test_counters_without_time_are_the_models() -> None:
    rng, size = np.random.default_rng(1), 1 << 16
    model, clocked, spec = T2sModel(CONFIG, size), T2sCycles(CONFIG, size), job_spec(CONFIG)
    for _ in range(cases(40)):
        case = random_case(rng, CONFIG, size, 3)
        found = []
        for one in (model, clocked):
            one.write_memory(0, case.memory.tobytes())
            found.append(JobRegisters(one, spec).submit(case.registers))
        assert (model.memory == clocked.memory).all()
        without, counts = (one.counts for one in found)
        for name in ("operations", "bytes_read", "bytes_written"):
            assert counts[name] == without[name]
        assert counts["cycles"] > counts["busy_cycles"] + counts["stalls"]


def test_a_job_that_fails_ends_as_on_the_model() -> None:
    model, clocked = T2sModel(CONFIG, 1 << 16), T2sCycles(CONFIG, 1 << 16)
    registers = random_case(np.random.default_rng(2), CONFIG, 1 << 16).registers
    for changed in ({"TRIPS_I": 0}, {"A_BASE": 1 << 20}):
        ends = [
            JobRegisters(one, job_spec(CONFIG)).submit({**registers, **changed})
            for one in (model, clocked)
        ]
        assert ends[0].error != "none"
        assert (ends[0].error, ends[0].detail) == (ends[1].error, ends[1].detail)


def test_counts_of_bounds_are_those_of_a_job() -> None:
    device = T2sCycles(CONFIG, 1 << 20)
    driver = Driver(device)
    a, b = np.zeros((BOUNDS["i"], BOUNDS["k"])), np.zeros((BOUNDS["k"], BOUNDS["j"]))
    driver.compute(A=a, B=b)
    assert driver.counts == counts_of(CONFIG, BOUNDS)


def test_memories() -> None:
    """No memory moves more bytes than its bandwidth allows. A faster clock waits more cycles."""
    flat = counts_of(CONFIG, BOUNDS)
    assert counts_of(CONFIG, BOUNDS, memory=replace(FLAT, latency=200)).cycles > flat.cycles
    found = {}
    for memory in (HBM, HBM_32):
        for gigahertz in (1.0, 2.0):
            counts = counts_of(CONFIG, BOUNDS, memory=memory, gigahertz=gigahertz)
            found[memory.name, gigahertz] = counts.cycles
            assert counts.bytes_read == flat.bytes_read
            assert counts.bytes_read <= counts.cycles / gigahertz * memory.gigabytes
            assert counts.cycles > flat.cycles
        assert found[memory.name, 1.0] < found[memory.name, 2.0]


def test_jobs_near_their_bounds() -> None:
    """Operations, beats of a channel or bytes of a DRAM bound the jobs. No job is below its
    bound."""
    wide = T2sConfig(sizes="II=2,JJ=2,KK=2,III=8,JJJ=8,KKK=2", largest=0, format="int8")
    sizes = "II=4,JJ=4,KK=4,III=2,JJJ=2,KKK=8"
    narrow = T2sConfig(sizes=sizes, largest=0, format="fp32", pipeline=2)
    bounds = {"i": 64, "j": 64, "k": 128}
    for config, memory in ((wide, FLAT), (narrow, FLAT), (narrow, replace(HBM, gigabytes=4.0))):
        places = dict.fromkeys(("A", "B", "C"), 0)
        job = job_at(config, bounds, places)
        counts = run_job(config, job, memory=memory).counts
        limit = bound(config, job, counts.operations, memory, 1.0)
        assert limit <= counts.cycles < 1.3 * limit
        assert (limit == counts.operations) == (config is wide)


def test_a_job_below_its_bound_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "bound", lambda *job: 1e9)
    with pytest.raises(BoundBroken, match=r"fewer than its bound of 1,000,000,000\.0"):
        counts_of(CONFIG, BOUNDS)


def test_every_wait_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that waits for ever says so."""
    monkeypatch.setattr(machine, "_PATIENCE", 10)
    with pytest.raises(RuntimeError, match="the cycle model has come to a standstill in cycle"):
        counts_of(CONFIG, BOUNDS, memory=replace(FLAT, latency=5000))


def test_full_rate() -> None:
    """Blocks that fill a larger array: nearly all cycles begin products."""
    config = T2sConfig(
        sizes="II=4,JJ=4,KK=4,III=8,JJJ=8,KKK=4", largest=0, format="int8", managers=3
    )
    counts = counts_of(config, {"i": 128, "j": 128, "k": 512})
    assert counts.busy_cycles == 4 * 4 * 512 // 4 * 64
    assert counts.busy_cycles > 0.98 * counts.cycles
