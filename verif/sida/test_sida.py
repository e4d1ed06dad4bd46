"""SIDA's RTL from end to end, in cocotb: bit for bit, any memory, registers and interrupt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.hw.spec.sida import SIDA, SidaConfig
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.sida.model import SidaModel
from tilewright.verif.bench.axi_memory import DECERR
from tilewright.verif.bench.device import AxiDevice
from tilewright.verif.kit.job_checks import check_interrupt, register_answers, started_twice
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but
from tilewright.verif.sida.configs import CONFIGS, small
from tilewright.verif.sida.jobs import Placed, check_job, random_job
from tilewright.verif.sida.wrong_jobs import check_bus_error, check_reset

pytestmark = pytest.mark.long

MEMORY_BYTES = 1 << 16
ROUGH: dict[str, Any] = {"latency": (1, 80), "stall": 0.3, "mixed": True, "modes": True}
Device = AxiDevice[SidaConfig]


def device_of(name: str, **settings: Any) -> Device:
    config = small(**CONFIGS[name])
    return AxiDevice(
        emit(SIDA, config),
        config,
        outstanding=config.outstanding,
        memory_bytes=MEMORY_BYTES,
        **settings,
    )


@pytest.fixture(scope="module", params=slow_but([], ["tiny", "int32", "fp16"], ["tiny"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    with device_of(request.param, lite_stall=0.3) as device:
        yield device


def some_job(rng: np.random.Generator, device: Device, **given: Any) -> Placed:
    """Small, of two products in two passes at most unless ``given`` says otherwise."""
    built = device.config.operators
    settings = {"size": int(rng.integers(1, 40)), "passes": 1 + int(rng.integers(2)),
                "semirings": (built[0], built[-1]), **given}  # fmt: skip
    return random_job(rng, device.config, MEMORY_BYTES, **settings)


def test_registers_are_those_of_the_table(device: Device) -> None:
    """Every word of the map, before any job: reads, writes and what is refused, as the model."""
    registers = job_spec(device.config).registers
    found = register_answers(device, registers)
    assert found == register_answers(SidaModel(device.config, MEMORY_BYTES), registers)
    assert found.count("refused") > 10


def test_jobs_on_any_memory(device: Device) -> None:
    """Every pair of semirings, one product and two; of a buffer that is small panels are lost."""
    rng = rng_of(1)
    built = device.config.operators
    behaviours: list[dict[str, Any]] = [
        {}, {"latency": (40, 40), "modes": True}, {"stall": 0.6}, {"modes": True}, ROUGH,
    ]  # fmt: skip
    lost = 0
    for seed, behaviour in enumerate(behaviours):
        device.behave(seed=seed, **behaviour)
        for first, second in zip(built, (None, *built), strict=False):
            lost += check_job(device, some_job(rng, device, semirings=(first, second))).counts[
                "lost"
            ]
        lost += check_job(device, some_job(rng, device, size=60, shape="lower")).counts["lost"]
    assert device.faults == []
    if device.config.buffer_words <= 4 * device.config.subtensor:
        assert lost > 0


def test_errors_of_the_bus(device: Device) -> None:
    rng = rng_of(2)
    for array, side, error in (
        ("row_numbers", "reads", "bus_read"),
        ("scalars", "writes", "bus_write"),
    ):
        placed = some_job(rng, device, size=30, shape="half")
        first, size = placed.spans[array]
        step = device.config.interleave
        bad = (first + int(rng.integers(size))) // step * step
        beats = range(bad, bad + step, device.config.geometry.beat_bytes)
        where = np.zeros(MEMORY_BYTES, np.bool_)
        where[bad : bad + step] = True
        spoiled: dict[str, Any] = {f"bad_{side}": dict.fromkeys(beats, DECERR)}
        device.behave(seed=3, **ROUGH, **spoiled)
        check_bus_error(device, placed, error, where)
        device.behave()
        assert check_job(device, placed).error == "none"
    assert device.faults == []


def test_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(4)
    stopped = 0
    for number in range(by_size(6, 10, 40)):
        device.behave(seed=number, **(ROUGH if number % 2 else {"latency": (1, 30), "modes": True}))
        placed = some_job(rng, device)
        stopped += check_reset(device, placed, int(rng.integers(0, 800)))
        assert check_job(device, placed).error == "none"
    assert stopped > 2
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
    model = SidaModel(device.config, MEMORY_BYTES)
    model.write_memory(0, placed.memory.tobytes())
    JobRegisters(model, job_spec(device.config)).submit(placed.registers)
    assert device.read_memory(0, MEMORY_BYTES) == model.memory.tobytes()


@pytest.mark.parametrize("stall", slow_but([], [0.0, 0.4], []))
def test_the_memory_of_cocotbext_axi(stall: float) -> None:
    """On a memory and a count of what went over the bus that share no code with ours."""
    rng = rng_of(7)
    with device_of("tiny", axi_ram=True, seed=7, stall=stall) as device:
        elements = lost = 0
        for _ in range(6):
            counts = check_job(device, some_job(rng, device, size=50, shape="half")).counts
            elements, lost = elements + counts["elements"], lost + counts["lost"]
        assert elements > 0
        assert lost > 0
