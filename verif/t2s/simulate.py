"""Simulates an array on random jobs from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.kit.reports import JobsReport, JobsUnderWay, any_behaviour, run_jobs

from .unit.jobs import check_case, largest_case_bytes, random_case

_ROUNDS = 2
"""Iterations of an outermost loop at most."""


def run(
    unit: Unit | str,
    config: T2sConfig,
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
    unit, config: the unit, or its name in the catalogue
    seed: of jobs and memories
    count: jobs
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    size = max(1 << 16, 2 * largest_case_bytes(config, _ROUNDS))

    def job(state: JobsUnderWay) -> Iterator[tuple[int, int]]:
        memory = "rough" if state.number % 2 else "ideal"
        behaviour = any_behaviour(state.rng) if state.number % 2 else AxiBehaviour()
        state.device.behave(behaviour)
        state.kind = f"design {Path(config.design).stem}"
        case = random_case(state.rng, config, size, _ROUNDS)
        counts = check_case(state.device, case).counts
        state.coverage[memory, "jobs"] += 1
        steps = config.plan.program.indices
        state.coverage[memory, "one iteration of all loops"] += all(
            case.job.trips.get(name, 1) == 1 for name in steps
        )
        yield counts["operations"], counts["cycles"]

    return run_jobs(
        unit,
        config,
        job,
        counted="iterations of an element",
        memory_bytes=size,
        seed=seed,
        count=count,
        waves=waves,
    )
