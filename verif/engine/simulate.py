"""Simulates a tile engine on random jobs from a memory that behaves as badly as it may.

Then on large products from a memory that answers at once, to see how busy the unit is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tilewright.hw.catalogue import find_unit
from tilewright.hw.spec.engine import EngineConfig
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.unit import Unit
from tilewright.sim.engine.model import EngineModel
from tilewright.verif.engine.jobs import Mismatch, check_job, fill, random_job
from tilewright.verif.engine.rates import (
    EngineAxiDevice,
    EngineTimeout,
    Rate,
    bytes_of,
    large_product,
    measure,
    typical_operations,
)
from tilewright.verif.kit.reports import Case, JobsReport

_MEMORY_BYTES = 1 << 17


@dataclass(frozen=True, kw_only=True)
class EngineReport(JobsReport):
    """A report of an engine's jobs.

    Parameters
    ----------
    rates: of large products, one for each kind of operation
    """

    rates: list[Rate]

    def figures(self) -> list[str]:
        return list(map(str, self.rates))

    def cases(self) -> list[Case]:
        """Cases of the report and the large products, whose complaints are separate from the random
        jobs'."""
        large = [Case(f"large {r.operation}", str(r), "; ".join(r.complaints)) for r in self.rates]
        found = {text for rate in self.rates for text in rate.complaints}
        left = [text for text in self.complaints if text not in found]
        return [*super(EngineReport, replace(self, complaints=left, rates=[])).cases(), *large]

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"rates": [rate.as_json() for rate in self.rates]}


def run(
    unit: Unit | str,
    config: EngineConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> EngineReport:
    """Check random jobs against the model: all of memory, status and counters.

    Every other memory answers at once, the others after random latencies, out of order and with
    stalls on all channels. Large products follow, with the counters held against what the bench
    sees; not if there are waves, which would be large, too.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of jobs and memories
    count: jobs
    waves: file for the waves

    Raises as :class:`EngineAxiDevice`.
    """
    rng = np.random.default_rng(seed)
    coverage: Counter[tuple[str, str]] = Counter()
    complaints: list[str] = []
    operations = cycles = number = 0
    kinds: Counter[str] = Counter()
    failed = ""
    names = {row.opcode: row.name for row in config.unit.operations.values()}
    with (
        EngineAxiDevice(config, memory_bytes=_MEMORY_BYTES, waves=waves) as device,
        activity("simulating jobs", total=count) as shown,
    ):
        model = EngineModel(config, _MEMORY_BYTES)
        fill(rng, device, model)
        while number < count and not complaints:
            if number % 2:
                stall, most = float(rng.choice([0.0, 0.2, 0.5])), int(rng.choice([5, 50, 200]))
                device.behave(seed=number, latency=(1, most), stall=stall, mixed=True, modes=True)
            else:
                device.behave()
            job = random_job(rng, config, _MEMORY_BYTES)
            try:
                counts = check_job(device, model, job).counts
                operations, cycles = operations + counts.operations, cycles + counts.cycles
            except (Mismatch, EngineTimeout) as error:
                complaints.append(" ".join(str(error).split()))
                failed = names[job.op]
            name = names[job.op]
            kinds[name] += 1
            coverage[name, "jobs"] += 1
            coverage[name, "transposed B"] += job.transposed_b
            coverage[name, "with C"] += job.use_c
            coverage[name, "C in place"] += job.use_c and job.base["c"] == job.base["d"]
            number += 1
            shown.step(1)
        complaints += device.faults
    rates: list[Rate] = []
    if waves is None and not complaints:
        try:
            rates += _rates(config, rng)
        except (Mismatch, EngineTimeout) as error:
            complaints.append(" ".join(str(error).split()))
    return EngineReport(
        unit=find_unit(unit).name,
        simulator="verilator",
        seed=seed,
        jobs=number,
        operations=operations,
        cycles=cycles,
        coverage=coverage,
        complaints=complaints + [text for rate in rates for text in rate.complaints],
        kinds=kinds,
        failed=failed,
        rates=rates,
    )


def _rates(config: EngineConfig, rng: np.random.Generator) -> Iterator[Rate]:
    """Large products of each kind, from a memory that is as large and patient as they need."""
    jobs = {name: large_product(config, name) for name in typical_operations(config)}
    size = max(map(bytes_of, jobs.values()))
    with EngineAxiDevice(config, memory_bytes=size, time_out=1_000_000 + 4 * size) as device:
        model = EngineModel(config, size)
        fill(rng, device, model)
        for name, job in jobs.items():
            yield measure(device, model, name, job)
        if device.faults:
            raise Mismatch("; ".join(device.faults))
