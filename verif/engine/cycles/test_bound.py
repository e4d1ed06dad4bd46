"""No job is faster than an engine's bound; also DRAMs, and units with another rate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.engine import EngineConfig, M3xuEngineConfig, Simd2EngineConfig
from tilewright.sim.engine.cycles.bound import Bound
from tilewright.sim.engine.cycles.machine import run_job
from tilewright.sim.engine.cycles.report import EngineCycles
from tilewright.sim.timing.bound_broken import BoundBroken
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.verif.engine.configs import CONFIGS
from tilewright.verif.engine.cycles.against_rtl import any_size
from tilewright.verif.engine.cycles.product_job import product_job
from tilewright.verif.engine.jobs import random_job
from tilewright.verif.kit.sampling import cases

MEMORIES: tuple[MemoryModel, ...] = (FLAT, HBM, HBM_32)
pytestmark = pytest.mark.slow

SMALL, LARGE = CONFIGS["small"], Simd2EngineConfig(tile=16, data_bits=128, managers=3)

every_memory = pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)


def check(found: EngineCycles) -> None:
    limit = found.bound
    assert found.ratio >= 1
    assert found.cycles >= limit.cycles >= max(limit.compute_cycles, limit.memory_cycles)
    assert found.busy_cycles >= found.operations
    assert limit.compute_cycles == found.operations * found.interval
    assert 0 < found.utilisation <= 1
    assert 0 < found.bandwidth_utilisation <= 1
    assert found.memory_bytes >= found.bytes_read + found.bytes_written


@every_memory
def test_random_jobs(memory: MemoryModel) -> None:
    """Tries any engine at any clock, also on memories with short queues."""
    rng = np.random.default_rng(5)
    configs = list(CONFIGS.values())
    for _ in range(cases(400)):
        config = configs[rng.integers(len(configs))]
        job = random_job(rng, config, 1 << 22, most=any_size(rng))
        how = replace(memory, latency=int(rng.integers(1, 60)))
        if rng.random() < 0.3:
            queue = int(rng.choice([1, 3, 64]))
            how = replace(how, read_queue=queue, write_queue=queue, gigabytes=200.0)
        gigahertz = float(rng.choice([0.3, 1.0, 2.0]))
        interval = None if rng.integers(2) else int(rng.integers(1, 9))
        check(run_job(config, job, memory=how, gigahertz=gigahertz, interval=interval))


@every_memory
def test_a_large_product_is_near_its_bound(memory: MemoryModel) -> None:
    job = product_job(LARGE, "minplus", 2048, 2048, 512, use_c=True, spread=2048)
    found = run_job(LARGE, job, memory=memory)
    check(found)
    assert found.ratio < 2
    assert found.bound.bytes_once == 2 * 2048 * 512 * 2 + 2 * 2048 * 2048 * 4


def test_a_dram_that_is_never_late_is_as_fast_as_a_flat_memory() -> None:
    """A memory of one huge page a bank that answers at once and moves far more than the port: what
    is left of its controller is a store of whole bursts, which a product that waits for its
    unit does not notice."""
    quick = dict.fromkeys(("column", "activate", "precharge", "active", "read_to_precharge",
                           "write_recovery", "activate_gap", "activate_window", "read_to_write",
                           "write_to_read", "controller"), 0.0)  # fmt: skip
    settings: dict[str, Any] = {**quick, "page_bytes": 1 << 30, "gigabytes": 1e6}
    dram = replace(HBM, **settings)
    job = product_job(LARGE, "minplus", 1024, 1024, 2048)
    slow, fast = (run_job(LARGE, job, memory=memory) for memory in (dram, replace(FLAT, latency=1)))
    assert slow.bytes_read == fast.bytes_read == sum(slow.memory_read)
    assert abs(slow.cycles - fast.cycles) < 0.01 * fast.cycles


def test_rows_a_power_of_two_apart_share_a_bank() -> None:
    """Each burst is in another page of the same bank; a page between the rows helps."""
    shape = (512, 512, 16384)
    close, apart = (
        run_job(LARGE, product_job(LARGE, "minplus", *shape, spread=spread), memory=HBM)
        for spread in (0, 2048)
    )
    assert close.memory_bytes == apart.memory_bytes
    assert close.cycles > 2 * apart.cycles


def test_a_unit_of_another_rate() -> None:
    """A unit with interval 2 takes as long as a product that needs two steps."""
    config = Simd2EngineConfig(
        tile=4, format="fp32", multiplier_bits=12, ops=("mma", "minplus"), managers=2
    )
    for memory in (FLAT, HBM):
        two, one = (product_job(config, name, 70, 90, 40) for name in ("mma", "minplus"))
        steps = run_job(config, two, memory=memory)
        assert steps == run_job(config, one, memory=memory, interval=2)
        assert steps.interval == 2
        assert run_job(config, one, memory=memory).bound.compute_cycles < steps.operations * 2


def test_the_vector_unit_is_as_much_slower_as_a_tile_is_deep() -> None:
    """Compares the two where the unit, not the memory, is the limit."""
    job = product_job(LARGE, "minplus", 1024, 1024, 1024)
    matrix, vector = (run_job(LARGE, job, interval=interval) for interval in (None, 16))
    assert vector.utilisation > 0.98
    assert 10 < vector.cycles / matrix.cycles < 16


def test_what_cannot_be() -> None:
    job = product_job(SMALL, "mma", 3, 3, 3)
    with pytest.raises(ValueError, match=r"^`interval` must be at least 1, not 0$"):
        run_job(SMALL, job, interval=0)
    with pytest.raises(ValueError, match=r"^`operation` must be one of mma, minplus, not 'gemm'$"):
        product_job(SMALL, "gemm", 3, 3, 3)
    with pytest.raises(ValueError, match=r"^`spread` must be a multiple of 8, not 4$"):
        product_job(SMALL, "mma", 3, 3, 3, spread=4)
    large = product_job(SMALL, "mma", 1 << 16, 3, 3)
    with pytest.raises(ValueError, match=r"^register M breaks a rule of the engine: size_limit$"):
        run_job(SMALL, large)
    pages = replace(HBM, page_bytes=64, read_queue=1)
    text = r"^`read_queue` and `write_queue` must be at least 16, the pages of a burst, not 1$"
    with pytest.raises(ValueError, match=text):
        run_job(LARGE, product_job(LARGE, "minplus", 3, 3, 3), memory=pages)


def test_bursts_of_several_pages() -> None:
    """Counts each page as a separate request."""
    config: EngineConfig = M3xuEngineConfig(modes=("fp16",), data_bits=512, block_cols=64)
    assert config.burst_beats * config.beat_bytes > HBM.page_bytes // 8
    job = product_job(config, "fp16", 100, 600, 100, use_c=True)
    for page in (128, 256, 2048):
        memory = replace(HBM, page_bytes=page)
        found = run_job(config, job, memory=memory)
        check(found)
        assert found.memory_bytes == found.bytes_read + 100 * 38 * 64


def test_a_broken_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bound, "cycles", property(lambda limit: 100 * limit.compute_cycles))
    with pytest.raises(BoundBroken, match=r"^a job took [\d,]+ cycles, fewer than its bound of"):
        run_job(LARGE, product_job(LARGE, "minplus", 512, 512, 512))
