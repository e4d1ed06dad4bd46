"""The cycle model by itself: cycles that are left out, memories, jobs that fail, large products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig
from tilewright.hw.spec.jobs.gta import job_spec
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.gta import timed
from tilewright.sim.gta.cycles.machine import run_job
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.model import TIMELESS, GtaModel
from tilewright.sim.gta.timed import TimedGta
from tilewright.sim.timing.memories import FLAT, HBM, HBM_32, MemoryModel
from tilewright.verif.gta.devices import DEVICES, LARGE_MEMORY_BYTES
from tilewright.verif.gta.jobs import random_case
from tilewright.verif.gta.lists import random_case as random_list
from tilewright.verif.gta.wrong_lists import spoilt_case
from tilewright.verif.kit.sampling import by_size, rng_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("memory", [FLAT, HBM], ids=lambda memory: memory.name)
@pytest.mark.parametrize("name", ["all", "regions"])
def test_what_is_left_out_changes_nothing(
    name: str, memory: MemoryModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products, and vectors, with every cycle and without those in which nothing happens."""
    config, rng = DEVICES[name].config, rng_of(1)
    seen = []

    def twice(*job: Any, **settings: Any) -> dict[str, int]:
        found, whole = (run_job(*job, **settings, whole=each) for each in (False, True))
        assert found == whole
        seen.append(found["cycles"])
        return found

    monkeypatch.setattr(timed, "run_job", twice)
    driver = GtaDriver(TimedGta(config, LARGE_MEMORY_BYTES, memory=memory))
    for number in range(by_size(5, 10, 300)):
        case = random_case(rng, config, most=70, **({"segments": 2} if number % 2 else {}))
        driver.pgemm(case.format, case.a, case.b, case.c, **case.settings)
    assert len(seen) == by_size(5, 10, 300)


def product(config: GtaConfig, size: int, name: str, **settings: Any) -> dict[str, int]:
    driver = GtaDriver(TimedGta(config, 1 << 22, **settings))
    zeros = np.zeros((size, size), np.uint64)
    driver.pgemm(name, zeros, zeros)
    return driver.counts


def test_memories() -> None:
    """No memory moves more than its bandwidth, and a faster clock waits longer."""
    config = GtaConfig()
    flat = product(config, 128, "int8")
    found = {}
    for memory in (HBM, HBM_32):
        for gigahertz in (1.0, 2.0):
            counts = product(config, 128, "int8", memory=memory, gigahertz=gigahertz)
            found[memory.name, gigahertz] = counts["cycles"]
            assert counts["bytes_read"] == flat["bytes_read"]
            assert counts["bytes_read"] <= counts["cycles"] / gigahertz * memory.gigabytes
            assert counts["cycles"] > flat["cycles"]
    for name in (HBM.name, HBM_32.name):
        assert found[name, 1.0] < found[name, 2.0]


def test_counters_without_time_are_the_models() -> None:
    config, rng = DEVICES["all"].config, rng_of(2)
    model, clocked = GtaModel(config, 1 << 16), TimedGta(config, 1 << 16)
    clock = TimedGta(config, 1 << 16, values=False)
    spec = job_spec(config)
    for _ in range(by_size(10, 40, 300)):
        case = random_list(rng, config, 1 << 16)
        ends = []
        for one in (model, clocked, clock):
            one.write_memory(0, case.memory.tobytes())
            ends.append(JobRegisters(one, spec).submit(case.registers))
        assert (model.memory == clocked.memory).all()
        without, counts, alone = (end.counts for end in ends)
        assert alone == counts
        assert (clock.memory == case.memory).all()
        assert {name: counts[name] for name in TIMELESS} == {x: without[x] for x in TIMELESS}
        assert counts["cycles"] >= counts["busy_cycles"] + counts["stalls"]


def test_jobs_that_fail_end_as_on_the_model() -> None:
    config, rng = DEVICES["all"].config, rng_of(3)
    model, clocked = GtaModel(config, 1 << 16), TimedGta(config, 1 << 16)
    spec, failed = job_spec(config), 0
    for _ in range(by_size(20, 60, 1000)):
        case = spoilt_case(rng, config, 1 << 16)
        ends = []
        for one in (model, clocked):
            one.write_memory(0, case.memory.tobytes())
            ends.append(JobRegisters(one, spec).submit(case.registers))
        assert (ends[0].error, ends[0].detail) == (ends[1].error, ends[1].detail)
        if ends[0].error != "none":
            failed += 1
            assert ends[1].counts == ends[0].counts
    assert failed > by_size(5, 20, 300)


def test_the_drivers_choice_is_nearly_the_best() -> None:
    """The driver chooses good tiles for each dataflow, cycle for cycle, and its overall choice
    takes hardly longer than the best dataflow."""
    config, rng = GtaConfig(lanes=2), rng_of(4)
    driver = GtaDriver(TimedGta(config, LARGE_MEMORY_BYTES))
    shares = []
    for number in range(by_size(8, 12, 200)):
        name = config.integers[number % 4]
        m, n, k = (int(rng.integers(1, int(rng.choice([10, 60, 150])))) for _ in range(3))
        a, b = np.zeros((m, k), np.uint64), np.zeros((k, n), np.uint64)
        cycles = {}
        for flow in ("auto", "ws", "is", "os"):
            driver.pgemm(name, a, b, dataflow=flow)
            cycles[flow] = driver.counts["cycles"]
        shares.append(cycles["auto"] / min(cycles.values()))
    assert np.mean(shares) < 1.05
    assert max(shares) < 1.5


@pytest.mark.parametrize("dataflow", ["ws", "is"])
def test_partial_sums_hold_no_stores_back(dataflow: str) -> None:
    """The array adds to sums of int8, of which it reads two at a time, while the results of the
    previous tile are stored."""
    driver = GtaDriver(TimedGta(GtaConfig(), 1 << 22, values=False))
    zeros = np.zeros((128, 128), np.uint64)
    driver.pgemm("int8", zeros, zeros, dataflow=dataflow, layout=(4, 1))
    least = 128**3 // (64 * 4)
    assert least < driver.counts["cycles"] < 1.1 * least


def test_a_large_product() -> None:
    """A product with many folds between two STOREs takes hardly longer than its multiplications."""
    size = by_size(256, 1024, 2048)
    driver = GtaDriver(TimedGta(GtaConfig(), 1 << 26, values=False))
    zeros = np.zeros((size, size), np.uint64)
    driver.pgemm("int8", zeros, zeros)
    least = size**3 // (64 * 4)
    assert least < driver.counts["cycles"] < 1.02 * least
