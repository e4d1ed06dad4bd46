"""Simulates a MatRaptor on random jobs from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from tilewright.hw.emit import emit
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.verif.kit.matraptor_cases import random_case
from tilewright.verif.kit.matraptor_jobs import Mismatch, check_case
from tilewright.verif.kit.native_memory import any_behaviour
from tilewright.verif.native_axi import (
    AcceleratorTimeout,
    AxiBehaviour,
    AxiRuleError,
    NativeAccelerator,
)
from tilewright.verif.simulate import JobsReport

__all__ = ["run"]

_STRIPES = 128
"""Of the memory: a block in every channel each."""


def run(
    unit_name: str,
    config: MatRaptorConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> JobsReport:
    """Check random jobs against the model: all of memory, status and counters.

    Every other memory answers at once, the others are slow, out of order, with stalls on all
    channels, or all of it.

    Parameters
    ----------
    unit_name, config: the unit of the catalogue
    seed: of jobs and memories
    count: products to compute at least
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    rng = np.random.default_rng(seed)
    coverage: Counter[tuple[str, str]] = Counter()
    complaints: list[str] = []
    number = operations = cycles = 0
    size = max(1 << 18, _STRIPES * config.layout.stripe_bytes)
    with NativeAccelerator(
        emit(unit_name, config), config, memory_bytes=size, waves=waves
    ) as device:
        while operations < count and not complaints:
            memory = "ideal"
            if number % 2:
                memory = "rough"
                device.behave(any_behaviour(rng))
            else:
                device.behave(AxiBehaviour())
            case = random_case(rng, config, size)
            number += 1
            try:
                counts = check_case(rng, device, case).counts
                operations, cycles = operations + counts["operations"], cycles + counts["cycles"]
            except (Mismatch, AcceleratorTimeout, AxiRuleError) as error:
                complaints.append(" ".join(str(error).split()))
            coverage[memory, "jobs"] += 1
            coverage[memory, "merges"] += bool(case.product().statistics.merge_steps)
            coverage[memory, "empty rows"] += bool((case.a.lengths == 0).any())
    return JobsReport(
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
        counted="products",
    )
