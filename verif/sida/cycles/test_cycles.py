"""The cycle model of SIDA against the RTL: every counter is equal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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

OTHERS: dict[str, dict[str, Any]] = {
    # Walks over panels and chunks that end within the job.
    "many chunks": {"buffer_words": 16384, "subtensor": 4, "vector_words": 2048,
                    "semirings": ("minplus",)},
    "narrow window": {"pes": 8, "subtensor": 64, "window": 2, "adder_stages": 2, "value": "fp16",
                      "multiplier_stages": 1, "semirings": ("minplus",), "vector_words": 256},
    "wide window": {"pes": 8, "subtensor": 8, "window": 64, "adder_stages": 2, "value": "int32",
                    "buffer_words": 64, "semirings": ("mma",), "channels": 3},
    "one panel": {"subtensor": 128, "buffer_words": 64, "window": 8, "channels": 1,
                  "outstanding": 2, "value": "fp16", "semirings": ("orand",)},
}  # fmt: skip
ALL = CONFIGS | OTHERS


@pytest.fixture(scope="module", params=slow_but([], ALL, ["small", "int32"]))
def device(request: pytest.FixtureRequest) -> Iterator[SidaDevice]:
    config = small(**ALL[request.param])
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


def test_rows_that_are_not_read_again(device: SidaDevice) -> None:
    """They may be anything."""
    rng = np.random.default_rng(3)
    built = device.config.operators
    semirings = (built[0], built[-1])
    job = random_job(rng, device.config, MEMORY_BYTES, size=12, shape="power", semirings=semirings)
    for number in range(13):
        job = job.with_word("row_pointers", number, int(rng.integers(1 << 32)))
    assert compare_counts(device, job, 3)["bytes_again"] == 0
