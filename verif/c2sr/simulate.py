"""Simulates a C2SR converter on random matrices in a memory that behaves as badly as it may."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.c2sr_converter import C2srConverterConfig
from tilewright.hw.spec.jobs.c2sr_converter import MODES
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import AcceleratorTimeout, AxiRuleError, NativeAccelerator
from tilewright.verif.c2sr.jobs import any_case, check
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.reports import JobsReport

__all__ = ["run"]

_STRIPES = 128
"""Of the memory: a block in every channel each."""


def run(
    unit: Unit | str,
    config: C2srConverterConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> JobsReport:
    """Check random conversions: all of memory, the bytes over each channel, the counters.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of matrices and memories
    count: entries to convert at least
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    rng = np.random.default_rng(seed)
    coverage: Counter[tuple[str, str]] = Counter()
    complaints: list[str] = []
    number = entries = cycles = 0
    size = max(1 << 19, _STRIPES * config.layout.stripe_bytes)
    with NativeAccelerator(emit(unit, config), config, memory_bytes=size, waves=waves) as device:
        while entries < count and not complaints:
            direction = list(MODES)[number % len(MODES)]
            device.behave(any_behaviour(rng))
            case = any_case(rng, config, direction)
            number += 1
            try:
                counts = check(rng, device, case).counts
                entries, cycles = entries + counts["entries"], cycles + counts["cycles"]
            except (AssertionError, AcceleratorTimeout, AxiRuleError) as error:
                complaints.append(" ".join(str(error).split()) or "a wrong result")
            coverage[direction, "jobs"] += 1
            coverage[direction, "empty rows"] += bool((case.matrix.lengths == 0).any())
    return JobsReport(
        unit=find_unit(unit).name,
        simulator="verilator",
        seed=seed,
        jobs=number,
        operations=entries,
        cycles=cycles,
        coverage=coverage,
        complaints=complaints,
        counted="entries",
    )
