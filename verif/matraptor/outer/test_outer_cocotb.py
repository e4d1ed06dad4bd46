"""Outer products on MatRaptor's RTL in cocotb: the protocol, the registers, both modes by turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.matraptor import job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.verif.bench.device import AxiDevice
from tilewright.verif.kit.broken_rules import wrong_values
from tilewright.verif.kit.job_checks import register_answers
from tilewright.verif.kit.sampling import rng_of
from tilewright.verif.matraptor.cases import random_case
from tilewright.verif.matraptor.jobs import check_case, check_failure, check_reset
from tilewright.verif.matraptor.outer.outer_cases import in_rows, random_outer
from tilewright.verif.matraptor.outer.outer_jobs import check_outer

MEMORY_BYTES = 1 << 16
CONFIG = MatRaptorConfig(
    lanes=2, channels=2, queues=3, queue_depth=64, outstanding=4, data_bits=64, outer_product=True
)
Device = AxiDevice[MatRaptorConfig]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with AxiDevice(
        emit("matraptor", CONFIG),
        CONFIG,
        outstanding=CONFIG.outstanding,
        may_wait=True,
        memory_bytes=MEMORY_BYTES,
        lite_stall=0.3,
    ) as device:
        yield device


def test_registers_are_those_of_the_table(device: Device) -> None:
    registers = job_spec(CONFIG).registers
    found = register_answers(device, registers)
    assert found == register_answers(MatRaptorModel(CONFIG, MEMORY_BYTES), registers)
    assert found.count("refused") > 10


def test_both_modes_by_turns_on_any_memory(device: Device) -> None:
    rng = rng_of(1)
    behaviours: list[dict[str, Any]] = [
        {}, {"latency": (40, 40)}, {"latency": (1, 200), "mixed": True}, {"stall": 0.6},
        {"latency": (1, 80), "stall": 0.3, "mixed": True},
    ]  # fmt: skip
    products = 0
    for seed, behaviour in enumerate(behaviours):
        device.behave(seed=seed, **behaviour)
        for _ in range(4):
            products += check_outer(rng, device, random_outer(rng, CONFIG, MEMORY_BYTES)).counts[
                "operations"
            ]
            by_rows = random_case(rng, CONFIG, MEMORY_BYTES)
            check_case(rng, device, in_rows(rng, by_rows))
    assert products > 0
    assert device.faults == []


def test_jobs_that_cannot_run(device: Device) -> None:
    rng = rng_of(2)
    device.behave()
    case = random_outer(rng, CONFIG, MEMORY_BYTES)
    spec = job_spec(CONFIG)
    for rule, value in wrong_values(spec, case.registers).items():
        wrong = {rule.error: [spec.registers[rule.register].offset]}
        check_failure(rng, device, case, wrong, overrides={rule.register: value})
    check_outer(rng, device, case)


def test_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(3)
    stopped = 0
    for seed in range(12):
        device.behave(seed=seed, latency=(1, 30), stall=0.2)
        case = random_outer(rng, CONFIG, MEMORY_BYTES, density=0.4)
        stopped += check_reset(rng, device, case, int(rng.integers(0, 300)))
        check_outer(rng, device, random_outer(rng, CONFIG, MEMORY_BYTES, density=0.4))
    assert stopped > 12 // 4
    assert device.faults == []
