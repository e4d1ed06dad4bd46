"""Simulates a SIDA on random jobs from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilewright.hw.spec.sida import SidaConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.kit.reports import JobsReport, JobsUnderWay, any_behaviour, run_jobs
from tilewright.verif.sida.jobs import check_job, random_job

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
    count: jobs
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """

    def job(state: JobsUnderWay) -> Iterator[tuple[int, int]]:
        rough = state.number % 2
        memory = "rough" if rough else "ideal"
        state.device.behave(any_behaviour(state.rng) if rough else AxiBehaviour())
        placed = random_job(state.rng, config, _MEMORY_BYTES)
        state.kind = "two products" if placed.registers["SECOND_PRODUCT"] else "one product"
        state.coverage[memory, "jobs"] += 1
        counts = check_job(state.device, placed).counts
        state.coverage[memory, "lost panels"] += counts["lost"]
        state.coverage[memory, "passes"] += counts["passes_done"]
        yield counts["elements"], counts["cycles"]

    return run_jobs(
        unit,
        config,
        job,
        counted="elements",
        memory_bytes=_MEMORY_BYTES,
        seed=seed,
        count=count,
        waves=waves,
    )
