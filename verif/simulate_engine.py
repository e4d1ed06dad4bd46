"""Simulates a tile engine on random jobs from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tilewright.hw.spec.engine import EngineConfig
from tilewright.sim.engine import EngineModel
from tilewright.verif.kit.engine_device import EngineDevice, EngineTimeout
from tilewright.verif.kit.engine_jobs import Mismatch, check_job, fill, random_job
from tilewright.verif.simulate import Report

__all__ = ["EngineReport", "run"]

_MEMORY_BYTES = 1 << 17


@dataclass(frozen=True, kw_only=True)
class EngineReport(Report):
    """A report of jobs, whose cycles depend on the memory: nothing is promised.

    Parameters
    ----------
    jobs: that were run
    """

    jobs: int

    def lines(self) -> list[str]:
        return [
            f"{self.unit}: {'pass' if self.passed else 'FAIL'}, {self.jobs} jobs of "
            f"{self.operations} operations, all of memory compared bit for bit, "
            f"{self.cycles} cycles, seed {self.seed}, {self.simulator}",
            *(f"error: {complaint}" for complaint in self.complaints),
        ]


def run(
    unit_name: str,
    config: EngineConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> EngineReport:
    """Check random jobs against the model: all of memory, status and counters.

    Every other memory answers at once, the others after random latencies, out of order and with
    stalls on all channels.

    Parameters
    ----------
    unit_name, config: the unit of the catalogue
    seed: of jobs and memories
    count: operations of the matrix unit to run at least
    waves: file for the waves

    Raises as :class:`EngineDevice`.
    """
    rng = np.random.default_rng(seed)
    coverage: Counter[tuple[str, str]] = Counter()
    complaints: list[str] = []
    operations = cycles = 0
    names = {row.opcode: row.name for row in config.unit.operations.values()}
    with EngineDevice(config, memory_bytes=_MEMORY_BYTES, waves=waves) as device:
        model = EngineModel(config, _MEMORY_BYTES)
        fill(rng, device, model)
        number = 0
        while operations < count and not complaints:
            if number % 2:
                stall, most = float(rng.choice([0.0, 0.2, 0.5])), int(rng.choice([5, 50, 200]))
                device.behave(seed=number, latency=(1, most), stall=stall, mixed=True)
            else:
                device.behave()
            job = random_job(rng, config, _MEMORY_BYTES)
            try:
                counts = check_job(device, model, job).counts
                operations, cycles = operations + counts.operations, cycles + counts.cycles
            except (Mismatch, EngineTimeout) as error:
                complaints.append(" ".join(str(error).split()))
            name = names[job.op]
            coverage[name, "jobs"] += 1
            coverage[name, "transposed B"] += job.transposed_b
            coverage[name, "with C"] += job.use_c
            coverage[name, "C in place"] += job.use_c and job.base["c"] == job.base["d"]
            number += 1
        complaints += device.faults
    return EngineReport(
        unit=unit_name,
        simulator="verilator",
        seed=seed,
        jobs=number,
        operations=operations,
        cycles=cycles,
        cycles_promised=cycles,
        timings=[],
        coverage=coverage,
        complaints=complaints,
    )
