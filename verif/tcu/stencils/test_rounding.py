"""Bounds of stencils of floats, beside sweeps in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from tilewright.sim.tcu import NumpyBackend, TensorUnit
from tilewright.sim.tcu.stencils.linear import stencil
from tilewright.sim.tcu.stencils.rounding import stencil_error, sweeps_error
from tilewright.sim.tcu.words import COMPLEX, FP32, FP64, Array
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.stencils.sweeps import swept


def exact(x: Array) -> Array:
    return np.vectorize(lambda value: Fraction(float(value)), otypes=[object])(x)


@pytest.mark.parametrize("boundary", ["periodic", "open"])
@pytest.mark.parametrize(
    "words", slow_but([FP64], among=(FP32, FP64, COMPLEX)), ids=lambda words: words.name
)
def test_stencils_are_within_the_bound(words: Floats, boundary: str) -> None:
    rng = np.random.default_rng(5)
    for k, s, shape in ((1, 4, (4, 5)), (2, 4, (5, 5)), (5, 2, (6, 4)), (8, 16, (8, 3))):
        real = FP32 if words is FP32 else FP64
        grid = real.array(rng.standard_normal(shape))
        for weights in (rng.standard_normal((3, 3)), rng.random((3, 3)) / 9):
            taps = real.array(weights)
            found = stencil(
                TensorUnit(NumpyBackend(s), words), words.array(grid), words.array(taps), k,
                boundary,
            )  # fmt: skip
            true = swept(exact(grid), exact(taps), k, boundary)
            total = float(np.abs(taps).sum())
            error = stencil_error(total, k, s, words)
            worst = float(np.abs(exact(found.real) - true).max())
            assert worst <= error * float(np.abs(grid).max())
            if words is COMPLEX:
                assert np.abs(found.imag).max() <= error * float(np.abs(grid).max())
            # It says something: of weights that sum to one, thousands of roundings.
            assert error < 3e5 * k * k * words.roundoff * total**k


def test_sweeps_one_by_one_are_within_theirs() -> None:
    rng = np.random.default_rng(6)
    grid, weights = rng.standard_normal((2, 6, 6))
    weights = weights[:3, :3]
    cells = grid
    for _ in range(6):
        after = np.zeros_like(cells)
        for x in (-1, 0, 1):
            for y in (-1, 0, 1):
                after += weights[1 + x, 1 + y] * np.roll(cells, (-x, -y), (0, 1))
        cells = after
    true = swept(exact(grid), exact(weights), 6, "periodic")
    worst = float(np.abs(exact(cells) - true).max())
    bound = sweeps_error(float(np.abs(weights).sum()), 6, FP64) * float(np.abs(grid).max())
    assert 0 < worst <= bound


def test_bounds_grow_slowly_with_sweeps() -> None:
    """Weights that sum to one: about as k cubed, not as powers of something."""
    errors = [stencil_error(1.0, k, 16, FP64) for k in (8, 64, 512)]
    assert all(later / earlier < 8**3.5 for earlier, later in pairwise(errors))
    assert errors[2] < 2e-4
