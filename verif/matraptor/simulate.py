"""Simulates a MatRaptor on random jobs from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import (
    AcceleratorTimeout,
    AxiBehaviour,
    AxiRuleError,
    NativeAccelerator,
)
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.reports import JobsReport
from tilewright.verif.matraptor.cases import SparseCase, random_case
from tilewright.verif.matraptor.jobs import Mismatch, check_case
from tilewright.verif.matraptor.outer.outer_cases import in_rows, random_outer
from tilewright.verif.matraptor.outer.outer_jobs import check_outer

__all__ = ["run"]

_STRIPES = 128
"""Of the memory: a block in every channel each."""


def run(
    unit: Unit | str,
    config: MatRaptorConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> JobsReport:
    """Check random jobs against the model: all of memory, status and counters. Where there is an
    outer-product mode, every other pair of jobs is of it.

    Every other memory answers at once, the others are slow, out of order, with stalls on all
    channels, or all of it.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
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
    with NativeAccelerator(emit(unit, config), config, memory_bytes=size, waves=waves) as device:
        while operations < count and not complaints:
            memory = "ideal"
            if number % 2:
                memory = "rough"
                device.behave(any_behaviour(rng))
            else:
                device.behave(AxiBehaviour())
            number += 1
            case: SparseCase
            try:
                if config.outer_product and number % 4 > 1:
                    case = random_outer(rng, config, size)
                    counts = check_outer(rng, device, case).counts
                    coverage[memory, "outer products"] += 1
                else:
                    case = random_case(rng, config, size)
                    case = in_rows(rng, case) if config.outer_product else case
                    counts = check_case(rng, device, case).counts
                    merged = bool(case.product().statistics.merge_steps)
                    coverage[memory, "merges"] += merged
                operations, cycles = operations + counts["operations"], cycles + counts["cycles"]
            except (Mismatch, AcceleratorTimeout, AxiRuleError) as error:
                complaints.append(" ".join(str(error).split()))
            coverage[memory, "jobs"] += 1
            coverage[memory, "empty rows"] += bool((case.a.lengths == 0).any())
    return JobsReport(
        unit=find_unit(unit).name,
        simulator="verilator",
        seed=seed,
        jobs=number,
        operations=operations,
        cycles=cycles,
        coverage=coverage,
        complaints=complaints,
        counted="products",
    )
