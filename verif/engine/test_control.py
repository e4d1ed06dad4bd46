"""The engine's registers, interrupt and refusals on the RTL, and the rate at which it works."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.engine import EngineConfig, M3xuEngineConfig, Simd2EngineConfig
from tilewright.hw.spec.jobs.engine import job_spec
from tilewright.sim.engine.driver import Counts
from tilewright.sim.engine.model import EngineModel
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.engine import simulate as simulate_engine
from tilewright.verif.engine.jobs import (
    CONFIGS,
    check_job,
    fill,
)
from tilewright.verif.engine.rates import EngineAxiDevice, Rate, large_product, measure, unit_of
from tilewright.verif.kit.job_checks import wrong_values
from tilewright.verif.kit.sampling import slow_but

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engine.md"
SMALL = CONFIGS["small"]
SPEC = job_spec(SMALL)
WRONG = wrong_values(SPEC, {"FLAGS": 2})


RATES: dict[str, tuple[EngineConfig, str]] = {
    "simd2": (Simd2EngineConfig(tile=4, ops=("mma", "minplus"), managers=3), "mma"),
    "deep_tile": (
        M3xuEngineConfig(rows=4, cols=4, depth=8, modes=("fp16",), pipeline=1, managers=3),
        "fp16",
    ),
    "two_steps": (
        M3xuEngineConfig(rows=4, cols=4, depth=4, modes=("fp16", "fp32"), managers=3),
        "fp32",
    ),
    "512_bits": (Simd2EngineConfig(tile=4, ops=("mma", "minplus"), data_bits=512), "mma"),
}


@cache
def native_build(name: str) -> Emitted:
    config, _ = RATES[name]
    return emit(unit_of(config), config)


@pytest.mark.long
@pytest.mark.parametrize("name", slow_but([], RATES, ["simd2"]))
@pytest.mark.parametrize("transposed_b", [False, True])
def test_large_products_keep_the_unit_busy(name: str, transposed_b: bool) -> None:
    """Keeps the unit busy in at least 95 % of the cycles; the byte counters equal the bytes on the
    bus.

    The figures are those of docs/engine.md, with B as it is and transposed.
    """
    config, operation = RATES[name]
    job = large_product(config, operation, transposed_b=transposed_b)
    with NativeAccelerator(native_build(name), config) as device:
        model = EngineModel(config, device.memory_bytes)
        fill(np.random.default_rng(15), device, model)
        counts = check_job(device, model, job).counts
        assert device.faults == []
        assert counts.cycles <= device.cycles
    print(f"{name}: {counts}, utilisation {counts.utilisation:.4f}")
    span = counts.busy_cycles + counts.stalls
    assert span < counts.cycles
    interval = config.unit.initiation_interval[operation]
    assert counts.operations * interval >= 0.95 * span
    assert counts.utilisation >= 0.95
    share = f"{counts.busy_cycles:,} of {span:,} ({100 * counts.utilisation:.1f} %)"
    moved_bytes = f"{counts.bytes_read:,}, {counts.bytes_written:,}"
    row = f" {job.m} x {job.n} x {job.k} | {counts.operations:,} | {share} | {counts.cycles:,} | "
    assert row + moved_bytes in PAGE.read_text()


@pytest.mark.parametrize(
    ("name", "transposed_b", "axi_ram"),
    [
        pytest.param("two_steps", False, True, marks=pytest.mark.long),
        pytest.param("two_steps", True, False, marks=pytest.mark.long),
        pytest.param("simd2", True, False, marks=pytest.mark.long),
        pytest.param("512_bits", False, False, marks=pytest.mark.long),
    ],
)
def test_the_counters_are_what_is_seen_from_outside(
    name: str, transposed_b: bool, axi_ram: bool
) -> None:
    """Counters agree to the cycle with the bench at the unit's input, for units that accept an
    operation in every cycle or every second one, on either memory."""
    config, operation = RATES[name]
    job = large_product(config, operation, transposed_b=transposed_b)
    with EngineAxiDevice(config, memory_bytes=1 << 20, axi_ram=axi_ram) as device:
        model = EngineModel(config, device.memory_bytes)
        fill(np.random.default_rng(15), device, model)
        rate = measure(device, model, operation, job)
        assert device.faults == []
    assert rate.complaints == []
    counts = rate.counts
    span = counts.busy_cycles + counts.stalls
    assert counts.operations * config.unit.initiation_interval[operation] >= 0.95 * span
    assert counts.utilisation >= 0.95


def test_a_counter_that_is_not_what_the_bench_saw() -> None:
    job = large_product(SMALL, "mma")
    counted = {"busy_cycles": 10, "stalls": 2, "operations": 10, "bytes_read": 64}
    counts = Counts(cycles=20, **counted, bytes_written=8)
    rate = Rate(operation="mma", job=job, counts=counts, seen=counted | {"stalls": 3})
    assert rate.complaints == ["mma: stalls is 2, the bench saw 3"]
    assert str(rate).endswith("; the counters")
    same = Rate(operation="mma", job=job, counts=counts, seen=counted)
    assert same.complaints == []
    assert "busy in 10 of 12 cycles (83.3%)" in str(same)
    assert str(same).endswith("; counters and bench agree")


@pytest.mark.slow
def test_the_report_of_a_simulation() -> None:
    report = simulate_engine.run("engine_simd2", SMALL, seed=16, count=6)
    assert report.passed
    assert (report.jobs, sum(report.kinds.values())) == (6, 6)
    assert report.operations > 0
    # Both operations move and take the same.
    assert [rate.operation for rate in report.rates] == ["mma"]
    assert report.lines()[1:] == [str(rate) for rate in report.rates]
    rate = json.loads(json.dumps(report.as_json()))["rates"][0]
    assert {name: rate["counters"][name] for name in rate["seen"]} == rate["seen"]
