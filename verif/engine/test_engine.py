"""The tile engine's RTL against its model under cocotb: any job, any memory, errors, resets.

A few engines, on a memory and a register master that share no code with those of the native
simulation, on which test_native.py does the same with every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tilewright.verif.engine.configs import CONFIGS, MEMORY_BYTES
from tilewright.verif.engine.device import EngineAxiDevice
from tilewright.verif.engine.jobs import (
    Bench,
    check_failure,
    check_reset,
    random_job,
    rows_of,
)
from tilewright.verif.kit.sampling import cases, slow_but


@pytest.fixture(scope="module")
def device(request: pytest.FixtureRequest) -> Iterator[EngineAxiDevice]:
    with EngineAxiDevice(CONFIGS[request.param], memory_bytes=MEMORY_BYTES) as device:
        yield device


ENGINES = ("small", "three_managers", "two_steps")

every_engine = pytest.mark.parametrize(
    "device", slow_but(["small"], ENGINES, []), indirect=True, scope="module"
)
one_engine = pytest.mark.parametrize("device", ["small"], indirect=True, scope="module")


@every_engine
def test_random_jobs(device: EngineAxiDevice) -> None:
    device.behave()
    assert Bench(device, 1).jobs(cases(40)) > 0


@every_engine
def test_any_memory(device: EngineAxiDevice) -> None:
    """Latencies of 1 to 200 cycles, responses out of order, stalls on all channels, READY that
    waits for VALID."""
    bench = Bench(device, 2)
    for number in range(cases(10)):
        most, stall = int(bench.rng.choice([1, 10, 200])), float(bench.rng.choice([0, 0.3, 0.8]))
        device.behave(seed=number, latency=(1, most), stall=stall, mixed=True, modes=True)
        assert bench.jobs(2) > 0


@every_engine
def test_bus_errors(device: EngineAxiDevice) -> None:
    """Any read or write may fail: an error code, the address, and the next job runs."""
    bench = Bench(device, 3)
    size = device.config.beat_bytes
    for number in range(cases(20)):
        job = random_job(bench.rng, device.config, MEMORY_BYTES)
        operand = str(bench.rng.choice(["a", "b", "d", *(["c"] if job.use_c else [])]))
        rows = rows_of(device.config, job, operand)
        row = rows[int(bench.rng.integers(len(rows)))]
        kind = "bad_writes" if operand == "d" else "bad_reads"
        # A write fails with its burst, which begins somewhere in the row.
        beats = range(row.start, row.stop, size)
        bad = beats if operand == "d" else [int(bench.rng.choice(beats))]
        responses = {address: int(bench.rng.integers(2, 4)) for address in bad}
        latency, stall = (1, int(bench.rng.choice([1, 50]))), float(bench.rng.choice([0, 0.3]))
        device.behave(
            seed=number, latency=latency, stall=stall, mixed=True, modes=True, **{kind: responses}
        )
        error = "bus_write" if operand == "d" else "bus_read"
        detail = check_failure(device, bench.model, job, error)
        assert detail in responses
        device.behave()
        bench.jobs(1)


@one_engine
def test_a_read_behind_the_memory(device: EngineAxiDevice) -> None:
    device.behave()
    bench = Bench(device, 4)
    job = random_job(bench.rng, device.config, MEMORY_BYTES)
    job.base["a"] = MEMORY_BYTES
    assert check_failure(device, bench.model, job, "bus_read") == MEMORY_BYTES
    bench.jobs(1)


@every_engine
def test_soft_reset_at_any_time(device: EngineAxiDevice) -> None:
    bench = Bench(device, 5)
    stopped = 0
    for number in range(cases(40)):
        latency, stall = (1, int(bench.rng.choice([1, 20, 200]))), float(bench.rng.choice([0, 0.5]))
        device.behave(seed=number, latency=latency, stall=stall, mixed=True, modes=True)
        job = random_job(bench.rng, device.config, MEMORY_BYTES)
        stopped += check_reset(device, bench.model, job, int(bench.rng.integers(1, 300)))
        bench.jobs(1)
    assert stopped > cases(40) // 4
