"""MatRaptor's RTL at native speed: volume, every semiring, many lanes, any memory, its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.matraptor import ARRAYS
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.sampling import cases, rng_of, slow_but
from tilewright.verif.matraptor.cases import (
    SparseCase,
    place_case,
    random_case,
    random_matrix,
)
from tilewright.verif.matraptor.faults import check_bus_errors
from tilewright.verif.matraptor.jobs import check_case, check_reset

MEMORY_BYTES = 1 << 18
SMALL = {"queues": 3, "queue_depth": 24, "outstanding": 4, "data_bits": 64}
CONFIGS: dict[str, dict[str, Any]] = {
    "plus_times": {**SMALL, "lanes": 2, "channels": 2},
    "min_plus": {**SMALL, "semiring": "minplus", "lanes": 2, "channels": 2, "queues": 5},
    "max_plus": {**SMALL, "semiring": "maxplus", "value": "int32", "lanes": 1, "channels": 4},
    "min_mul": {**SMALL, "semiring": "minmul", "value": "fp16", "lanes": 3, "channels": 1},
    "max_mul": {**SMALL, "semiring": "maxmul", "value": "fp64", "data_bits": 128,
                "lanes": 2, "channels": 1},
    "min_max": {**SMALL, "semiring": "minmax", "value": "bf16", "lanes": 3, "channels": 3,
                "outstanding": 16},
    "max_min": {**SMALL, "semiring": "maxmin", "lanes": 1, "channels": 6, "queues": 10},
    "or_and": {**SMALL, "semiring": "orand", "index_bits": 16, "lanes": 4, "channels": 2},
    "add_norm": {**SMALL, "semiring": "addnorm", "lanes": 1, "channels": 2, "queues": 16},
}  # fmt: skip
Device = NativeAccelerator[MatRaptorConfig]


@pytest.fixture(scope="module", params=slow_but(["plus_times"], CONFIGS, ["min_mul"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = MatRaptorConfig(**CONFIGS[request.param])
    with NativeAccelerator(
        emit("matraptor", config), config, memory_bytes=MEMORY_BYTES, time_out=1_000_000
    ) as device:
        yield device


def heavy_case(rng: np.random.Generator, config: MatRaptorConfig) -> SparseCase:
    return random_case(rng, config, MEMORY_BYTES, most=40, density=0.2)


def test_random_jobs(device: Device) -> None:
    rng = rng_of(1)
    products = 0
    for number in range(cases(200)):
        device.behave(any_behaviour(rng) if number % 3 else AxiBehaviour())
        case = random_case(rng, device.config, MEMORY_BYTES, most=40)
        products += check_case(rng, device, case).counts["operations"]
    assert products > 0


@pytest.mark.parametrize("array", ARRAYS)
def test_bus_errors_end_the_job(device: Device, array: str) -> None:
    """A beat of a read, or the bursts of a block that is written; then a good job."""
    rng = rng_of(2 + ARRAYS.index(array))
    config = device.config
    for _ in range(cases(20)):
        check_bus_errors(rng, device, array, lambda: heavy_case(rng, config), check_case)


def test_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(9)
    stopped = 0
    for _ in range(cases(60)):
        device.behave(any_behaviour(rng))
        cycles = int(rng.integers(0, 400))
        stopped += check_reset(rng, device, heavy_case(rng, device.config), cycles)
        check_case(rng, device, heavy_case(rng, device.config))
    assert stopped > cases(60) // 4


def conflicts(rng: np.random.Generator, device: Device, apart: bool) -> int:
    """Of a product of which every lane reads B's rows in channels of its own, as it does A's if
    there are enough channels; or all lanes those of the first channel."""
    config = device.config
    rows, inner, cols = 24, 48, 12
    i, k = np.arange(rows)[:, None], np.arange(inner)[None, :]
    if apart:
        kept = k % config.lanes == i % config.lanes
    else:
        kept = k % config.channels == np.zeros_like(i)
    a = from_csr(sp.csr_array(np.where(kept, 1.0, 0.0)), config.layout)
    b = from_csr(sp.csr_array(np.ones((inner, cols))), config.layout)
    case = place_case(rng, config, MEMORY_BYTES, a, b)
    return check_case(rng, device, case).counts["conflicts"]


def test_lanes_meet_at_channels_that_they_share(device: Device) -> None:
    """And only there."""
    rng = rng_of(5)
    config = device.config
    for _ in range(3):
        device.behave(any_behaviour(rng))
        assert (conflicts(rng, device, apart=True) > 0) == (config.channel_lanes > 1)
        assert (conflicts(rng, device, apart=False) > 0) == (config.lanes > 1)


def test_the_driver_splits_what_overflows(device: Device) -> None:
    """Bit for bit what the driver makes of the model."""
    rng = rng_of(4)
    config = device.config
    device.behave(any_behaviour(rng))
    split = 0
    for _ in range(4):
        a = random_matrix(rng, config, (30, 40), 0.5)
        b = random_matrix(rng, config, (40, 3 * config.queue_depth), 0.3)
        driver, model = SparseDriver(device), SparseDriver(MatRaptorModel(config, MEMORY_BYTES))
        assert driver.multiply(a, b).same_as(model.multiply(a, b))
        assert [job.error for job in driver.jobs] == [job.error for job in model.jobs]
        split += len(driver.jobs) > 1
    assert split > 0
