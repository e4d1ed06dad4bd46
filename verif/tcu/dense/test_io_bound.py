"""Theorem 12: time on a weak unit is never below what a memory of 3 m words must move."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.sim.tcu import NumpyBackend, TensorUnit
from tilewright.sim.tcu.dense.recursive import standard, strassen
from tilewright.sim.tcu.dense.tall import tall
from tilewright.sim.tcu.formulas import dense as formulas
from tilewright.sim.tcu.theorems import STRASSEN_EXPONENT, product_bound
from tilewright.sim.tcu.words import INT64


@pytest.mark.parametrize("s", [1, 2, 4, 8, 16])
def test_measured_time_is_never_below(s: int) -> None:
    for n in (s, 2 * s, 3 * s, 4 * s, 5 * s + 1, 8 * s):
        a = np.arange(n * n).reshape(n, n) % 7
        bound = product_bound(n, s)
        assert bound == pytest.approx((n * n) ** 1.5 / (3 * s * s) ** 0.5)
        for algorithm in (tall, standard):
            unit = TensorUnit(NumpyBackend(s), INT64, weak=True)
            algorithm(unit, a, a)
            assert unit.unit_time >= bound
            assert unit.cost.rows == s * unit.cost.calls
        unit = TensorUnit(NumpyBackend(s), INT64, weak=True)
        strassen(unit, a, a)
        assert unit.unit_time >= product_bound(n, s, STRASSEN_EXPONENT)


def test_formulas_stay_above_at_any_size() -> None:
    for s in (4, 16, 256):
        for n in (s, 3 * s + 1, 100 * s, 1000 * s + 5):
            assert formulas.tall(n, s, weak=True).unit_time(s) >= product_bound(n, s)
            assert formulas.standard(n, s).unit_time(s) >= product_bound(n, s)
            fewer = product_bound(n, s, STRASSEN_EXPONENT)
            assert formulas.strassen(n, s).unit_time(s) >= fewer


def test_strassen_falls_below_the_bound_of_the_others() -> None:
    """Subtraction breaks the bound, from 32 blocks a side on."""
    for blocks, below in ((16, False), (32, True), (64, True)):
        time = formulas.strassen(4 * blocks, 4).unit_time(4)
        assert (time < product_bound(4 * blocks, 4)) == below
