"""Conversions on any converter: a few small ones through its driver, large ones, and on RTL random
ones in a memory that behaves as badly as it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tilewright.hw.spec.c2sr_converter import C2srConverterConfig
from tilewright.hw.spec.jobs.c2sr_converter import MODES
from tilewright.hw.spec.unit import Unit
from tilewright.sim.c2sr_converter.driver import ConverterDevice, ConverterDriver
from tilewright.verif.c2sr.jobs import Converter, any_case, check, matrix_of
from tilewright.verif.kit.reports import JobsReport, JobsUnderWay, any_behaviour, run_jobs

_ROWS, _COLS = 700, 40

_SHAPES = (1, 1), (13, 9)
_STRIPES = 128
"""Stripes of the memory: a block in every channel each."""


def exercise(device: ConverterDevice, rng: np.random.Generator) -> int:
    """Converts random matrices there and back and compares them. Returns the number of
    conversions."""
    driver = ConverterDriver(device)
    count = 0
    for rows, cols in _SHAPES:
        lengths = rng.integers(0, min(cols, 5) + 1, rows)
        matrix = matrix_of(rng, device.config, lengths, cols)
        for direction in MODES:
            found = driver.convert(direction, matrix)
            for one, other in zip(found.patterns(), matrix.patterns(), strict=True):
                assert np.array_equal(one, other), direction
            count += 1
    return count


def soak(device: Converter, rng: np.random.Generator) -> None:
    """One conversion in each direction."""
    for direction in MODES:
        rows = int(rng.integers(1, _ROWS)) if rng.integers(4) else None
        case = any_case(rng, device.config, direction, rows=rows, most=_COLS if rows else None)
        check(rng, device, case)


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
