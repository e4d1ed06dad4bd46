"""Simulates a C2SR converter on random matrices in a memory that behaves as badly as it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilewright.hw.spec.c2sr_converter import C2srConverterConfig
from tilewright.hw.spec.jobs.c2sr_converter import MODES
from tilewright.hw.spec.unit import Unit
from tilewright.verif.c2sr.jobs import any_case, check
from tilewright.verif.kit.reports import JobsReport, JobsUnderWay, any_behaviour, run_jobs

_STRIPES = 128
"""Stripes of the memory: a block in every channel each."""


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
    count: jobs
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """

    def job(state: JobsUnderWay) -> Iterator[tuple[int, int]]:
        direction = state.kind = list(MODES)[state.number % len(MODES)]
        state.device.behave(any_behaviour(state.rng))
        case = any_case(state.rng, config, direction)
        state.coverage[direction, "jobs"] += 1
        state.coverage[direction, "empty rows"] += bool((case.matrix.lengths == 0).any())
        counts = check(state.rng, state.device, case).counts
        yield counts["entries"], counts["cycles"]

    size = max(1 << 19, _STRIPES * config.layout.stripe_bytes)
    return run_jobs(
        unit, config, job, counted="entries", memory_bytes=size, seed=seed, count=count, waves=waves
    )
