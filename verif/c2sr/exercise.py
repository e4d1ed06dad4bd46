"""Conversions on any converter: a few small ones through its driver, and large ones."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.jobs.c2sr_converter import MODES
from tilewright.sim.c2sr_converter.driver import ConverterDevice, ConverterDriver
from tilewright.verif.c2sr.jobs import Converter, any_case, check, matrix_of

_ROWS, _COLS = 700, 40

_SHAPES = (1, 1), (13, 9)


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
