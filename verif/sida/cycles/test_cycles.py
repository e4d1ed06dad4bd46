"""The cycle model of SIDA against the RTL: every counter is equal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.sida import SIDA
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.configs import CONFIGS, small
from tilewright.verif.sida.cycles.whole_jobs import SidaDevice, any_latency, compare_counts
from tilewright.verif.sida.jobs import JOB_SHAPES, random_job

pytestmark = pytest.mark.slow

MEMORY_BYTES = 1 << 18


@pytest.fixture(scope="module", params=slow_but([], CONFIGS, ["small", "int32"]))
def device(request: pytest.FixtureRequest) -> Iterator[SidaDevice]:
    config = small(**CONFIGS[request.param])
    with NativeAccelerator(
        emit(SIDA, config), config, memory_bytes=MEMORY_BYTES, time_out=1_000_000
    ) as device:
        yield device


def test_jobs_of_one_product(device: SidaDevice) -> None:
    """Any program, any matrix, some passes."""
    rng = np.random.default_rng(1)
    built = device.config.operators
    for number in range(by_size(0, 20, 300)):
        shape = JOB_SHAPES[number % len(JOB_SHAPES)]
        semirings = (built[number % len(built)], None)
        job = random_job(rng, device.config, MEMORY_BYTES, shape=shape, semirings=semirings)
        assert compare_counts(device, job, any_latency(rng))["cycles"]


def test_jobs_of_two_products(device: SidaDevice) -> None:
    """The same; both of any semirings."""
    rng = np.random.default_rng(2)
    built = device.config.operators
    for number in range(by_size(0, 20, 300)):
        shape = JOB_SHAPES[number % len(JOB_SHAPES)]
        semirings = (built[number % len(built)], built[int(rng.integers(len(built)))])
        job = random_job(rng, device.config, MEMORY_BYTES, shape=shape, semirings=semirings)
        assert compare_counts(device, job, any_latency(rng))["cycles"]
