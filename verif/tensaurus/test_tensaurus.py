"""Tensaurus' RTL from end to end, in cocotb: bit for bit, any memory, registers and interrupt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.tensaurus import job_spec
from tilewright.hw.spec.tensaurus import TENSAURUS, TensaurusConfig
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.tensaurus.model import TensaurusModel
from tilewright.sim.tensaurus.work import STORES
from tilewright.verif.bench.axi_memory import DECERR
from tilewright.verif.bench.device import AxiDevice
from tilewright.verif.kit.job_checks import check_interrupt, register_answers, started_twice
from tilewright.verif.kit.sampling import rng_of, slow_but
from tilewright.verif.tensaurus.jobs import check_case, fitting, random_case
from tilewright.verif.tensaurus.model.cases import device as small
from tilewright.verif.tensaurus.placed import Placed, check_end, check_placed, check_reset, place

pytestmark = pytest.mark.long

MEMORY_BYTES = 1 << 17
LITTLE: dict[str, Any] = {"rows": 2, "cols": 1, "vlen": 2, "order": 3, "tlen": 2, "olen": 2}
CONFIGS: dict[str, dict[str, Any]] = {
    "small": LITTLE,
    "wide": {**LITTLE, "data_bits": 256, "channels": 4, "order": 4, "marker": "zero"},
    "odd": {**LITTLE, "channels": 3, "value": "bf16", "semiring": "minplus", "addr_bits": 64},
}
ROUGH: dict[str, Any] = {"latency": (1, 80), "stall": 0.3, "mixed": True, "modes": True}
Device = AxiDevice[TensaurusConfig]


def device_of(name: str, **settings: Any) -> Device:
    config = small(**CONFIGS[name])
    return AxiDevice(
        emit(TENSAURUS, config),
        config,
        outstanding=config.outstanding,
        memory_bytes=MEMORY_BYTES,
        **settings,
    )


@pytest.fixture(scope="module", params=slow_but([], CONFIGS, ["small"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    with device_of(request.param, lite_stall=0.3) as device:
        yield device


def some_job(rng: np.random.Generator, device: Device) -> Placed:
    case = random_case(rng, device.config, most=6, values=40)
    return place(rng, device.config, case, MEMORY_BYTES)


def test_registers_are_those_of_the_table(device: Device) -> None:
    """Every word of the map, before any job: reads, writes and what is refused, as the model."""
    registers = job_spec(device.config).registers
    found = register_answers(device, registers)
    assert found == register_answers(TensaurusModel(device.config, MEMORY_BYTES), registers)
    assert found.count("refused") > 10


def test_every_kernel_on_any_memory(device: Device) -> None:
    rng = rng_of(1)
    stores = []
    behaviours: list[dict[str, Any]] = [
        {}, {"latency": (40, 40), "modes": True}, {"stall": 0.6}, {"modes": True}, ROUGH,
    ]  # fmt: skip
    for seed, behaviour in enumerate(behaviours):
        device.behave(seed=seed, **behaviour)
        for kernel in fitting(device.config)[seed % 2 :: 2]:
            case = random_case(rng, device.config, kernel=kernel, store=None, most=5)
            check_case(rng, device, case)
            stores.append(case.cut.store)
    assert device.faults == []
    assert set(stores) == set(STORES)


def test_errors_of_the_bus(device: Device) -> None:
    rng = rng_of(2)
    for array, side, error in (("tensor", "reads", "bus_read"), ("output", "writes", "bus_write")):
        placed = some_job(rng, device)
        first, size = placed.spans(array)[0]
        step = device.config.interleave
        bad = (first + int(rng.integers(size))) // step * step
        beats = range(bad, bad + step, device.config.geometry.beat_bytes)
        where = np.zeros(MEMORY_BYTES, np.bool_)
        where[bad : bad + step] = True
        spoiled: dict[str, Any] = {f"bad_{side}": dict.fromkeys(beats, DECERR)}
        device.behave(seed=3, **ROUGH, **spoiled)
        check_end(device, placed, error=error, where=where)
        device.behave()
        check_placed(device, placed)
    assert device.faults == []


def test_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(4)
    stopped = 0
    for number in range(12):
        device.behave(seed=number, **(ROUGH if number % 2 else {"latency": (1, 30), "modes": True}))
        placed = some_job(rng, device)
        stopped += check_reset(device, placed, int(rng.integers(0, 500)))
        check_placed(device, placed)
    assert stopped > 3
    assert device.faults == []


def test_interrupt(device: Device) -> None:
    rng = rng_of(5)
    device.behave()
    placed = some_job(rng, device)
    device.write_memory(0, placed.memory.tobytes())
    check_interrupt(device, job_spec(device.config), placed.registers, 8000)


def test_registers_are_free_while_a_job_runs(device: Device) -> None:
    """A job works on what was there at its start; a second start meanwhile does nothing."""
    rng = rng_of(6)
    device.behave(latency=(400, 400))
    placed = some_job(rng, device)
    device.write_memory(0, placed.memory.tobytes())
    registers = JobRegisters(device, job_spec(device.config))
    started_twice(device, registers, placed.registers)
    model = TensaurusModel(device.config, MEMORY_BYTES)
    model.write_memory(0, placed.memory.tobytes())
    JobRegisters(model, job_spec(device.config)).submit(placed.registers)
    assert device.read_memory(0, MEMORY_BYTES) == model.memory.tobytes()


@pytest.mark.parametrize("stall", slow_but([], [0.0, 0.4], []))
def test_the_memory_of_cocotbext_axi(stall: float) -> None:
    """On a memory and a count of what went over the bus that share no code with ours."""
    rng = rng_of(7)
    with device_of("small", axi_ram=True, seed=7, stall=stall) as device:
        products = 0
        for _ in range(6):
            counts, _ = check_case(rng, device, random_case(rng, device.config, most=6))
            products += counts["products"]
        assert products > 0
