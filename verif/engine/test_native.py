"""The tile engine's RTL at native speed: any job on any memory, as the model has it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.engine import EngineConfig
from tilewright.sim.engine.driver import Driver, EngineDevice
from tilewright.sim.engine.job import Job
from tilewright.sim.engine.model import EngineModel
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.engine.configs import CONFIGS, MEMORY_BYTES
from tilewright.verif.engine.jobs import (
    EngineRtl,
    check_job,
    differences,
    fill,
    random_job,
)
from tilewright.verif.engine.rates import EngineAxiDevice, unit_of
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.oracles.semiring_matrices import matrix_product

Engine = NativeAccelerator[EngineConfig]


@cache
def emitted(name: str) -> Emitted:
    return emit(unit_of(CONFIGS[name]), CONFIGS[name])


@pytest.fixture(scope="module")
def device(request: pytest.FixtureRequest) -> Iterator[Engine]:
    name = request.param
    with NativeAccelerator(emitted(name), CONFIGS[name], memory_bytes=MEMORY_BYTES) as device:
        yield device


every_engine = pytest.mark.parametrize(
    "device",
    slow_but(["small"], CONFIGS, ["three_managers"]),
    indirect=True,
    scope="module",
)
one_engine = pytest.mark.parametrize("device", ["small"], indirect=True, scope="module")


@one_engine
def test_products_of_whole_matrices(device: Engine) -> None:
    device.reset()
    driver, rng = Driver(device), np.random.default_rng(1)
    for operation in ("mma", "minplus"):
        device.behave(any_behaviour(rng))
        a, b = rng.integers(-4, 5, (13, 21)), rng.integers(-4, 5, (21, 17))
        c = rng.integers(-9, 10, (13, 17))
        found = getattr(driver, f"simd2_{operation}")(a, b, c)
        np.testing.assert_array_equal(found, matrix_product(operation, a, b, c))
        assert device.traffic["m0_axi"].read.bytes >= driver.counts.bytes_read > 0
        assert 0 < driver.counts.cycles < device.cycles


@every_engine
def test_any_job_on_any_memory(device: Engine) -> None:
    print("seed 2")
    rng = np.random.default_rng(2)
    model = EngineModel(device.config, MEMORY_BYTES)
    device.behave(AxiBehaviour())
    for number in range(cases(150)):
        if number % 10 == 0:
            fill(rng, device, model)
        device.behave(any_behaviour(rng))
        check_job(device, model, random_job(rng, device.config, MEMORY_BYTES))
    assert device.faults == []


@one_engine
def test_a_reset_in_the_middle(device: Engine) -> None:
    """Resets the hardware while bursts are in flight; they are dropped."""
    rng, model = np.random.default_rng(5), EngineModel(device.config, MEMORY_BYTES)
    device.behave(AxiBehaviour(latency=(40, 40)))
    fill(rng, device, model)
    interrupted = 0
    for cycles in np.linspace(0, 59, cases(60)).astype(int).tolist():
        device.behave(AxiBehaviour(latency=(40, 40)))
        job = random_job(rng, device.config, MEMORY_BYTES, most=(8, 8, 8))
        Driver(device).write_job(job)
        device.write_register(Driver(device).register("CTRL").offset, 1)
        device.run(cycles)
        interrupted += device.traffic["m0_axi"].read.under_way > 0
        device.reset()
        assert (device.cycles, device.traffic["m0_axi"].read.under_way) == (0, 0)
        check_job(device, model, random_job(rng, device.config, MEMORY_BYTES))
    assert interrupted > cases(60) // 2


@pytest.mark.long
@pytest.mark.parametrize(
    "shape", slow_but([], [(65535, 1, 1), (1, 65535, 1), (1, 1, 65535)], [(1, 1, 65535)])
)
def test_the_largest_sizes(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    config, size = CONFIGS["small"], 3 << 20
    job = Job(
        op=config.opcodes["mma"],
        m=m,
        n=n,
        k=k,
        base={operand: index * size // 4 for index, operand in enumerate("abcd")},
        stride={"a": -(-k // 4) * 8, "b": -(-n // 4) * 8, "c": 8, "d": -(-n // 2) * 8},
        transposed_b=False,
        use_c=False,
    )
    with NativeAccelerator(emitted("small"), config, memory_bytes=size) as device:
        model = EngineModel(config, size)
        fill(np.random.default_rng(6), device, model)
        assert check_job(device, model, job).counts.bytes_written == m * n * 4
        assert device.faults == []


@pytest.mark.slow
def test_the_same_cycles_as_under_cocotb() -> None:
    """Two independent memories with a latency of one cycle give the same cycles."""
    config = CONFIGS["small"]
    with (
        NativeAccelerator(emitted("small"), config, memory_bytes=MEMORY_BYTES) as native,
        EngineAxiDevice(config, memory_bytes=MEMORY_BYTES) as other,
    ):
        rng = np.random.default_rng(6)
        models = [EngineModel(config, MEMORY_BYTES) for _ in range(2)]
        content = rng.integers(0, 256, MEMORY_BYTES, dtype=np.uint8) & 0xBF
        devices: list[EngineRtl] = [native, other]
        memories: list[EngineDevice] = [*devices, *models]
        for memory in memories:
            memory.write_memory(0, content.tobytes())
        for _ in range(10):
            job = random_job(rng, config, MEMORY_BYTES)
            counts = [
                check_job(device, model, job).counts
                for device, model in zip(devices, models, strict=True)
            ]
            assert counts[0] == counts[1]
        assert differences(native, models[1]) == []
