"""Simulates a MatRaptor on random jobs from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.kit.reports import JobsReport, JobsUnderWay, any_behaviour, run_jobs
from tilewright.verif.matraptor.cases import random_case
from tilewright.verif.matraptor.jobs import check_case
from tilewright.verif.matraptor.outer.outer_cases import check_outer, in_rows, random_outer

_STRIPES = 128
"""Stripes of the memory: a block in every channel each."""


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
    count: jobs
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    size = max(1 << 18, _STRIPES * config.layout.stripe_bytes)

    def job(state: JobsUnderWay) -> Iterator[tuple[int, int]]:
        rng, device, coverage = state.rng, state.device, state.coverage
        memory = "rough" if state.number % 2 else "ideal"
        device.behave(any_behaviour(rng) if state.number % 2 else AxiBehaviour())
        coverage[memory, "jobs"] += 1
        state.kind = "products by rows"
        if config.outer_product and state.number % 4 > 1:
            state.kind = "outer products"
            outer = random_outer(rng, config, size)
            coverage[memory, "empty rows"] += bool((outer.a.lengths == 0).any())
            counts = check_outer(rng, device, outer).counts
            coverage[memory, "outer products"] += 1
        else:
            case = random_case(rng, config, size)
            case = in_rows(rng, case) if config.outer_product else case
            coverage[memory, "empty rows"] += bool((case.a.lengths == 0).any())
            counts = check_case(rng, device, case).counts
            coverage[memory, "merges"] += bool(case.product().statistics.merge_steps)
        yield counts["operations"], counts["cycles"]

    return run_jobs(
        unit,
        config,
        job,
        counted="products",
        memory_bytes=size,
        seed=seed,
        count=count,
        waves=waves,
    )
