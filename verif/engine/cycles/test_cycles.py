"""The engine's cycle model: counter for counter, cycle for cycle, the RTL's on a flat memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.engine import EngineConfig, M3xuEngineConfig, Simd2EngineConfig
from tilewright.sim.device.protocol import JobError
from tilewright.sim.engine.cycles.machine import run_job
from tilewright.sim.engine.cycles.report import Bound, EngineCycles
from tilewright.sim.engine.driver import Driver
from tilewright.sim.engine.job import Job
from tilewright.sim.engine.model import EngineModel
from tilewright.sim.timing.bound_broken import BoundBroken
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.verif.engine.cycles.against_rtl import Both, any_size, sampled_config
from tilewright.verif.engine.jobs import CONFIGS, product_job, random_job
from tilewright.verif.engine.rates import large_product, typical_operations
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import cases, slow_but

pytestmark = pytest.mark.slow

ENGINES: dict[str, EngineConfig] = {
    **CONFIGS,
    # Addresses of writes in a memory of their own; blocks that are one tile high.
    "wide": Simd2EngineConfig(
        tile=4, ops=("mma", "minplus"), data_bits=512, outstanding=32, block_rows=1
    ),
    "many_writes": Simd2EngineConfig(
        tile=2, ops=("minplus",), pipeline=2, managers=2, outstanding=16
    ),
    # A unit whose operations wait in a register; one, two and four cycles each.
    "pipelined": M3xuEngineConfig(
        rows=2,
        cols=2,
        depth=4,
        modes=("fp16", "fp32", "fp32c"),
        data_assignment="pipelined",
        block_rows=2,
        block_cols=2,
        block_depth=4,
    ),
}


@pytest.fixture(scope="module")
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    found = Both(ENGINES[request.param])
    with found.device:
        yield found


every_engine = pytest.mark.parametrize("both", slow_but(["small"], ENGINES, []), indirect=True)
one_engine = pytest.mark.parametrize("both", ["small"], indirect=True)


@every_engine
def test_all_counters_are_those_of_the_rtl(both: Both) -> None:
    """Runs jobs of any size in succession, at any latency."""
    rng = np.random.default_rng(1)
    for _ in range(cases(120)):
        both.check_any(rng)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_all_counters_of_sampled_configurations(seed: int) -> None:
    config = sampled_config(np.random.default_rng(seed))
    found = Both(config)
    with found.device:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            found.check_any(rng)


@one_engine
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 700), (1, 700, 1), (700, 1, 1), (97, 98, 99)])
def test_all_counters_of_long_matrices(both: Both, shape: tuple[int, int, int]) -> None:
    for number, latency in enumerate((1, 3, 70)):
        job = product_job(
            both.config, "mma", *shape, use_c=bool(number % 2), transposed_b=number == 2
        )
        assert both.check(job, latency).operations == run_job(both.config, job).operations


@one_engine
def test_registers_of_the_model_are_those_of_the_rtl(both: Both) -> None:
    """Compares registers and results through the driver; a refused job changes no counter and takes
    no time."""
    rng = np.random.default_rng(3)
    a, b, c = rng.integers(0, 9, (13, 21)), rng.integers(0, 9, (21, 17)), np.ones((13, 17))
    both.reset(latency=9)
    model = EngineModel(both.config, 1 << 16, channel=replace(FLAT, latency=9), gigahertz=2.0)
    plain = EngineModel(both.config, 1 << 16)
    for number, addend in enumerate((None, c, None)):
        drivers = [Driver(device) for device in (both.device, model, plain)]
        found = [driver.compute("minplus", a, b, addend) for driver in drivers]
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])
        assert drivers[0].counts == drivers[1].counts
        assert model.cycles[number].counts == asdict(drivers[0].counts)
        assert model.cycles[number].microseconds == drivers[0].counts.cycles / 2000
        untimed = {"cycles": 0, "busy_cycles": 0, "stalls": 0}
        assert asdict(drivers[2].counts) == asdict(drivers[0].counts) | untimed
        with pytest.raises(JobError):
            drivers[1].submit(replace(Job.of_registers(model._values), m=0))
        assert drivers[1].counts.cycles == 0
    assert len(model.cycles) == 3
    both.reset()


IN_DOCS: tuple[EngineConfig, ...] = (
    Simd2EngineConfig(tile=4, ops=("mma", "minplus"), managers=3),
    M3xuEngineConfig(rows=4, cols=4, depth=8, modes=("fp16",), pipeline=1, managers=3),
    M3xuEngineConfig(rows=4, cols=4, depth=4, modes=("fp16", "fp32"), managers=3),
    Simd2EngineConfig(tile=4, ops=("mma", "minplus"), data_bits=512),
    Simd2EngineConfig(tile=4, ops=("mma", "minplus")),
    Simd2EngineConfig(tile=4, ops=("mma", "minplus"), block_rows=16, block_cols=16),
)


def test_rates_of_the_docs() -> None:
    """The page's rates equal those that `simulate` prints for large products on the RTL, whose
    memory answers at once."""
    text = page("engine.md").read_text()
    for config in IN_DOCS:
        for operation in typical_operations(config):
            memory = replace(FLAT, latency=1)
            found = run_job(config, large_product(config, operation), memory=memory)
            span = found.busy_cycles + found.stalls
            assert f"| {found.busy_cycles:,} of {span:,} (" in text, config
            rest = f"| {found.cycles:,} | {found.bytes_read:,}, {found.bytes_written:,} |"
            assert rest in text, config


# No job is faster than an engine's bound; also DRAMs, and units with another rate.

MEMORIES: tuple[MemoryModel, ...] = (FLAT, HBM, HBM_32)

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
    for page_bytes in (128, 256, 2048):
        memory = replace(HBM, page_bytes=page_bytes)
        found = run_job(config, job, memory=memory)
        check(found)
        assert found.memory_bytes == found.bytes_read + 100 * 38 * 64


def test_a_broken_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bound, "cycles", property(lambda limit: 100 * limit.compute_cycles))
    with pytest.raises(BoundBroken, match=r"^a job took [\d,]+ cycles, fewer than its bound of"):
        run_job(LARGE, product_job(LARGE, "minplus", 512, 512, 512))
