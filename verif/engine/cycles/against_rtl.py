"""Jobs on the engine's RTL with a memory of fixed latency, and on the cycle model."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from typing import Any

import numpy as np
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.engine import EngineConfig, M3xuEngineConfig, Simd2EngineConfig
from tilewright.sim.engine.cycles.machine import run_job
from tilewright.sim.engine.cycles.report import EngineCycles
from tilewright.sim.engine.driver import Driver
from tilewright.sim.engine.job import Job
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.timing.dram import FLAT
from tilewright.verif.engine.jobs import random_job
from tilewright.verif.engine.rates import unit_of

MEMORY_BYTES = 1 << 22


class Both:
    """An engine's RTL after a reset, and the cycle model's counts of the same jobs.

    Parameters
    ----------
    config: of the engine
    memory_bytes: of the RTL
    """

    def __init__(self, config: EngineConfig, memory_bytes: int = MEMORY_BYTES) -> None:
        self.config, self._turn = config, 0
        self.device = NativeAccelerator(_emitted(config), config, memory_bytes=memory_bytes)
        self._driver = Driver(self.device)

    def reset(self, latency: int = 1) -> None:
        """Resets the device; the model starts anew too."""
        self.device.reset()
        self.device.behave(AxiBehaviour(latency=(latency, latency)))
        self._turn = 0

    def check(self, job: Job, latency: int) -> EngineCycles:
        """Checks that all counters of a job, which follows earlier ones, are equal."""
        self.device.behave(AxiBehaviour(latency=(latency, latency)))
        self._driver.submit(job)
        assert self.device.faults == []
        memory = replace(FLAT, latency=latency)
        found = run_job(self.config, job, memory=memory, turn=self._turn)
        assert found.counts == asdict(self._driver.counts), f"{self.config}, {job}, {latency}"
        assert sum(found.memory_read) == found.bytes_read
        self._turn = found.turn
        return found

    def check_any(self, rng: np.random.Generator) -> EngineCycles:
        """The same of a random job."""
        most = any_size(rng)
        return self.check(
            random_job(rng, self.config, self.device.memory_bytes, most=most), any_latency(rng)
        )


@cache
def _emitted(config: EngineConfig) -> Emitted:
    return emit(unit_of(config), config)


def sampled_config(rng: np.random.Generator) -> EngineConfig:
    """An engine around a small unit of either kind, whose operations take 1, 2 or 4 cycles."""
    settings: dict[str, Any] = {
        "data_bits": int(rng.choice([64, 128, 256])),
        "managers": int(rng.integers(1, 4)),
        "outstanding": int(rng.choice([1, 2, 3, 5, 8, 15, 16, 32])),
        "pipeline": int(rng.integers(1, 6)),
        "block_rows": int(rng.choice([0, 1, 2, 4])),
        "block_cols": int(rng.choice([0, 8, 16])),
        "block_depth": int(rng.choice([0, 8, 16])),
    }
    if rng.integers(2):
        return Simd2EngineConfig(tile=2, ops=("mma", "minplus"), **settings)
    settings["data_assignment"] = str(rng.choice(["combinational", "pipelined"]))
    return M3xuEngineConfig(rows=2, cols=4, depth=4, modes=("fp16", "fp32", "fp32c"), **settings)


def any_latency(rng: np.random.Generator) -> int:
    """Draws the latency of a flat memory: 1 to 200 cycles, often short."""
    return int(rng.choice([1, 2, 3, 20, 200]) if rng.integers(2) else rng.integers(1, 201))


def any_size(rng: np.random.Generator) -> tuple[int, int, int]:
    """The greatest M, N and K of a job: sometimes small, sometimes many blocks."""
    m, n, k = (int(most) for most in rng.choice([8, 24, 60, 130], 3, p=[0.4, 0.3, 0.2, 0.1]))
    return m, n, k
