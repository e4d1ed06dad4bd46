"""Periods that the engine's cycle model leaves out: as if they had been simulated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.engine import EngineConfig, Simd2EngineConfig
from tilewright.sim.engine.cycles import steady
from tilewright.sim.engine.cycles.machine import run_job
from tilewright.sim.engine.cycles.steady import Periods
from tilewright.sim.timing.dram import FLAT, HBM, HBM_REFRESH, MemoryModel
from tilewright.verif.engine.cycles.against_rtl import any_latency, sampled_config
from tilewright.verif.engine.jobs import product_job
from tilewright.verif.kit.sampling import cases

pytestmark = pytest.mark.long

SMALL_PAGES = replace(HBM, page_bytes=64)
TILE_16 = Simd2EngineConfig(tile=16, data_bits=256, managers=3, outstanding=32)


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Records at each call whether periods were left out; short rows count too."""
    monkeypatch.setattr(steady, "WORTH", 0)
    found: list[bool] = []
    whole = Periods.leave_out

    def noted(periods: Periods, now: int) -> bool:
        found.append(whole(periods, now))
        return found[-1]

    monkeypatch.setattr(Periods, "leave_out", noted)
    return found


def any_blocks(rng: np.random.Generator, config: EngineConfig) -> tuple[int, int, int]:
    """M, N and K of up to 30 x 30 blocks and a few chunks; the last ones often smaller."""
    blocks = int(rng.integers(1, 31)), int(rng.integers(1, 31)), int(rng.integers(1, 6))
    lanes = [n * x * y for n, x, y in zip(blocks, config.block, config.tile_shape, strict=True)]
    m, n, k = (max(1, size - int(rng.integers(0, 9)) * int(rng.integers(2))) for size in lanes)
    return m, n, k


@pytest.mark.parametrize("memory", [FLAT, SMALL_PAGES], ids=lambda memory: memory.name)
def test_random_jobs_are_as_if_nothing_was_left_out(
    memory: MemoryModel, left_out: list[bool]
) -> None:
    rng = np.random.default_rng(11)
    count, jobs = cases(160), 0
    for _ in range(count):
        config = sampled_config(rng)
        settings: dict[str, Any] = {
            "use_c": bool(rng.integers(2)),
            "transposed_b": bool(rng.integers(2)),
            "spread": int(rng.integers(0, 70)) * config.beat_bytes * int(rng.integers(2)),
        }
        operation = str(rng.choice(list(config.unit.operations)))
        job = product_job(config, operation, *any_blocks(rng, config), **settings)
        how: dict[str, Any] = {
            "memory": replace(
                memory, latency=any_latency(rng), read_queue=int(rng.choice([16, 64]))
            ),
            "gigahertz": float(rng.choice([0.5, 1.0, 2.0])),
            "interval": None if rng.integers(2) else int(rng.integers(1, 20)),
        }
        left_out.clear()
        found = run_job(config, job, **how)
        assert found == run_job(config, job, **how, whole=True), f"{config}, {job}, {how}"
        jobs += any(left_out)
    assert jobs > count // 4


@pytest.mark.parametrize("memory", [FLAT, HBM], ids=lambda memory: memory.name)
@pytest.mark.parametrize("use_c", [False, True])
def test_a_large_product(memory: MemoryModel, use_c: bool, left_out: list[bool]) -> None:
    job = product_job(TILE_16, "minplus", 5000, 4096, 1024, use_c=use_c)
    found = run_job(TILE_16, job, memory=memory)
    assert found == run_job(TILE_16, job, memory=memory, whole=True)
    assert any(left_out)


def test_a_clock_that_rounds(left_out: list[bool]) -> None:
    """Times of a DRAM that cannot be added exactly, and refreshes: all is simulated."""
    job = product_job(TILE_16, "minplus", 5000, 2048, 64)
    run_job(TILE_16, job, memory=HBM, gigahertz=1.1)
    refreshed = run_job(TILE_16, job, memory=HBM_REFRESH)
    assert left_out == []
    assert refreshed.cycles > run_job(TILE_16, job, memory=HBM).cycles
    assert any(left_out)


def test_the_largest_product() -> None:
    """Finds a repeated state soon in 2^48 products of elements, whatever the size."""
    config = Simd2EngineConfig(tile=4, managers=3)
    size = (1 << 16) - 32
    found = run_job(config, product_job(config, "minplus", size, size, size, use_c=True))
    assert found.operations == (size // 4) ** 3
    assert 1 < found.ratio < 1.0001
