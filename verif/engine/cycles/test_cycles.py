"""The engine's cycle model: counter for counter, cycle for cycle, the RTL's on a flat memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np
import pytest
from tilewright.hw.spec.engine import EngineConfig, M3xuEngineConfig, Simd2EngineConfig
from tilewright.sim.device.protocol import JobError
from tilewright.sim.engine.cycles.machine import run_job
from tilewright.sim.engine.driver import Driver
from tilewright.sim.engine.job import Job
from tilewright.sim.engine.model import EngineModel
from tilewright.sim.timing.dram import FLAT
from tilewright.verif.engine.configs import CONFIGS
from tilewright.verif.engine.cycles.against_rtl import Both, sampled_config
from tilewright.verif.engine.cycles.product_job import product_job
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


every_engine = pytest.mark.parametrize(
    "both", slow_but(["small"], ENGINES, ["two_steps"]), indirect=True
)
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
