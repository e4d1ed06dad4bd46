"""Simulates a SIDA on random jobs from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.sida import SidaConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import (
    AcceleratorTimeout,
    AxiBehaviour,
    AxiRuleError,
    NativeAccelerator,
)
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.reports import JobsReport
from tilewright.verif.sida.jobs import Mismatch, check_job, random_job

__all__ = ["run"]

_MEMORY_BYTES = 1 << 19


def run(
    unit: Unit | str,
    config: SidaConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> JobsReport:
    """Check random jobs, of one product or of two, against the model: all of memory, status and
    counters.

    Every other memory answers at once, the others are slow, out of order, with stalls on all
    channels, or all of it.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of jobs and memories
    count: elements of matrices to multiply at least
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    rng = np.random.default_rng(seed)
    coverage: Counter[tuple[str, str]] = Counter()
    complaints: list[str] = []
    number = elements = cycles = 0
    with NativeAccelerator(
        emit(unit, config), config, memory_bytes=_MEMORY_BYTES, waves=waves
    ) as device:
        while elements < count and not complaints:
            memory = "rough" if number % 2 else "ideal"
            device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
            number += 1
            placed = random_job(rng, config, _MEMORY_BYTES)
            try:
                counts = check_job(device, placed).counts
                elements += counts["elements"]
                cycles += counts["cycles"]
                coverage[memory, "lost panels"] += counts["lost"]
                coverage[memory, "passes"] += counts["passes_done"]
            except (Mismatch, AcceleratorTimeout, AxiRuleError) as error:
                complaints.append(" ".join(str(error).split()))
            coverage[memory, "jobs"] += 1
    return JobsReport(
        unit=find_unit(unit).name,
        simulator="verilator",
        seed=seed,
        jobs=number,
        operations=elements,
        cycles=cycles,
        coverage=coverage,
        complaints=complaints,
        counted="elements",
    )
