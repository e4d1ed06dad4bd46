"""MatRaptor's RTL at native speed: volume, every semiring, many lanes, any memory, its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit import emit
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor_driver import SparseDriver
from tilewright.verif.kit.matraptor_cases import SparseCase, random_case, random_matrix
from tilewright.verif.kit.matraptor_jobs import check_case, check_failure, check_reset
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.native_axi import AxiBehaviour, NativeAccelerator

MEMORY_BYTES = 1 << 18
SMALL = {"queues": 3, "queue_depth": 24, "outstanding": 4, "data_bits": 64}
CONFIGS: dict[str, dict[str, Any]] = {
    "plus_times": {**SMALL, "lanes": 2, "channels": 2},
    "min_plus": {**SMALL, "semiring": "minplus", "lanes": 2, "channels": 2, "queues": 5},
    "max_plus": {**SMALL, "semiring": "maxplus", "value": "int32", "lanes": 1, "channels": 4},
    "min_mul": {**SMALL, "semiring": "minmul", "value": "fp16", "lanes": 3, "channels": 1},
    "max_mul": {**SMALL, "semiring": "maxmul", "value": "fp64", "data_bits": 128,
                "lanes": 2, "channels": 1},
    "min_max": {**SMALL, "semiring": "minmax", "value": "bf16", "lanes": 3, "channels": 3},
    "max_min": {**SMALL, "semiring": "maxmin", "lanes": 1, "channels": 6, "queues": 10},
    "or_and": {**SMALL, "semiring": "orand", "index_bits": 16, "lanes": 4, "channels": 2},
    "add_norm": {**SMALL, "semiring": "addnorm", "lanes": 1, "channels": 2, "queues": 16},
}  # fmt: skip
Device = NativeAccelerator[MatRaptorConfig]


@pytest.fixture(scope="module", params=slow_but(["plus_times"], CONFIGS))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = MatRaptorConfig(**CONFIGS[request.param])
    with NativeAccelerator(
        emit("matraptor", config), config, memory_bytes=MEMORY_BYTES, time_out=200_000
    ) as device:
        yield device


def rough(rng: np.random.Generator, **errors: Any) -> AxiBehaviour:
    return AxiBehaviour(
        seed=int(rng.integers(1 << 32)),
        latency=(1, int(rng.choice([3, 20, 200]))),
        stall=float(rng.choice([0.0, 0.2, 0.5])),
        mixed=True,
        register_stall=0.3,
        **errors,
    )


def rng_of(seed: int) -> np.random.Generator:
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def heavy_case(rng: np.random.Generator, config: MatRaptorConfig) -> SparseCase:
    return random_case(rng, config, MEMORY_BYTES, most=40, density=0.2)


def test_random_jobs(device: Device) -> None:
    rng = rng_of(1)
    products = 0
    for number in range(cases(300)):
        device.behave(rough(rng) if number % 3 else AxiBehaviour())
        case = random_case(rng, device.config, MEMORY_BYTES, most=40)
        products += check_case(rng, device, case).counts["operations"]
    assert products > 0


def test_bus_errors_end_the_job(device: Device) -> None:
    """Every beat of some read, or every burst of some array, fails; then a good job."""
    rng = rng_of(2)
    config = device.config
    for _ in range(cases(60)):
        case = heavy_case(rng, config)
        used = np.flatnonzero(case.a.lengths)
        if not len(used):
            continue
        row = int(rng.choice(used))
        pairs = [case.pair_addresses("a", np.array([row])), case.row_addresses("a", case.a, row)]
        address = int(rng.choice(pairs[int(rng.integers(2))]))
        bad = address // config.beat_bytes * config.beat_bytes
        device.behave(rough(rng, read_errors={bad: 2}))
        check_failure(rng, device, case, {"bus_read": [bad]})
        block = int(rng.choice(case.pair_addresses("c", np.array([row]))))
        first = block // config.interleave * config.interleave
        bursts = range(first, first + config.interleave, config.beat_bytes)
        device.behave(rough(rng, write_errors=dict.fromkeys(bursts, 3)))
        check_failure(rng, device, case, {"bus_write": bursts})
        device.behave(rough(rng))
        check_case(rng, device, heavy_case(rng, config))


def test_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(3)
    stopped = 0
    for _ in range(cases(60)):
        device.behave(rough(rng))
        cycles = int(rng.integers(0, 600))
        stopped += check_reset(rng, device, heavy_case(rng, device.config), cycles)
        check_case(rng, device, heavy_case(rng, device.config))
    assert stopped > 0


def test_the_driver_splits_what_overflows(device: Device) -> None:
    """Bit for bit what the driver makes of the model."""
    from tilewright.sim.matraptor_device import MatRaptorModel

    rng = rng_of(4)
    config = device.config
    device.behave(rough(rng))
    split = 0
    for _ in range(4):
        a = random_matrix(rng, config, (30, 40), 0.5)
        b = random_matrix(rng, config, (40, 3 * config.queue_depth), 0.3)
        driver, model = SparseDriver(device), SparseDriver(MatRaptorModel(config, MEMORY_BYTES))
        assert driver.multiply(a, b).same_as(model.multiply(a, b))
        assert [job.error for job in driver.jobs] == [job.error for job in model.jobs]
        split += len(driver.jobs) > 1
    assert split > 0
