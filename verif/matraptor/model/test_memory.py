"""The model device leaves every byte of memory as the hardware does: it writes no gaps."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.hw.spec.jobs.matraptor import job_spec
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.verif.kit.sampling import rng_of
from tilewright.verif.matraptor.cases import random_case
from tilewright.verif.matraptor.jobs import check_result, load_case
from tilewright.verif.matraptor.samples import config

MEMORY_BYTES = 1 << 16


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_bytes_that_are_not_the_results(channels: int) -> None:
    rng, cfg = rng_of(channels), config(lanes=2, channels=channels)
    device: Any = MatRaptorModel(cfg, MEMORY_BYTES)
    for _ in range(5):
        case = random_case(rng, cfg, MEMORY_BYTES)
        memory = load_case(rng, device, case)
        JobRegisters(device, job_spec(cfg)).submit(case.registers).check()
        check_result(device, case, memory)
