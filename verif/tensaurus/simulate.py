"""Simulates a Tensaurus on random products from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import (
    AcceleratorTimeout,
    AxiBehaviour,
    AxiRuleError,
    NativeAccelerator,
)
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.reports import JobsReport
from tilewright.verif.tensaurus.jobs import Mismatch, check_case, random_case

__all__ = ["run"]

_MEMORY_BYTES = 1 << 19


def run(
    unit: Unit | str,
    config: TensaurusConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> JobsReport:
    """Check random products, sparse and dense, in tiles, against the model: all of memory, status
    and counters.

    Every other memory answers at once, the others are slow, out of order, with stalls on all
    channels, or all of it.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of products and memories
    count: products of a scalar and a vector to compute at least
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    rng = np.random.default_rng(seed)
    coverage: Counter[tuple[str, str]] = Counter()
    complaints: list[str] = []
    number = products = cycles = 0
    with NativeAccelerator(
        emit(unit, config), config, memory_bytes=_MEMORY_BYTES, waves=waves
    ) as device:
        while products < count and not complaints:
            memory = "rough" if number % 2 else "ideal"
            device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
            number += 1
            case = random_case(rng, config)
            try:
                counts, tiles = check_case(rng, device, case)
                products += counts.get("products", 0)
                cycles += counts.get("cycles", 0)
                coverage[memory, "tiles"] += tiles
            except (Mismatch, AcceleratorTimeout, AxiRuleError) as error:
                complaints.append(" ".join(str(error).split()))
            coverage[memory, "jobs"] += 1
            kind = "dense" if case.work.dense else "sparse"
            coverage[memory, f"{kind} {case.work.kernel}"] += 1
    return JobsReport(
        unit=find_unit(unit).name,
        simulator="verilator",
        seed=seed,
        jobs=number,
        operations=products,
        cycles=cycles,
        coverage=coverage,
        complaints=complaints,
        counted="products",
    )
