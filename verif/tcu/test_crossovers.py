"""Compares crossovers of algorithms with closed forms and with runs, and checks that the advantage
continues."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tilewright.sim.tcu import NumpyBackend, TensorUnit
from tilewright.sim.tcu.crossovers import COMPARISONS, UnitModel, crossover
from tilewright.sim.tcu.dense.recursive import standard, strassen
from tilewright.sim.tcu.dense.tall import tall
from tilewright.sim.tcu.formulas import stencils
from tilewright.sim.tcu.integers.karatsuba import karatsuba
from tilewright.sim.tcu.integers.schoolbook import schoolbook
from tilewright.sim.tcu.words import INT64
from tilewright.verif.tcu.stencils.sweeps import swept

LATENCIES = (0, 1, 16, 1000, 10**6, 2.5)


@pytest.mark.parametrize("cpu", [0, 1, 3, 0.5])
def test_strassen_against_standard_in_closed_form(cpu: float) -> None:
    """7^h (m + l) + 5 m (7^h - 4^h) below 8^h (m + l) + m (8^h - 4^h), from some h on."""
    for s in (4, 16, 256):
        for latency in LATENCIES:
            m, waits, rate = s * s, Fraction(latency), Fraction(cpu)
            less = [
                (7**h - 8**h) * (m + waits)
                + rate * m * (5 * (7**h - 4**h) - (8**h - 4**h)) < 0
                for h in range(21)
            ]  # fmt: skip
            last = max(h for h in range(21) if not less[h])
            found = crossover(COMPARISONS["strassen / standard"], UnitModel("", s, latency), cpu)
            assert found == (s << (last + 1) if last < 20 else None)


def test_tall_calls_pay_as_soon_as_there_is_latency() -> None:
    one = COMPARISONS["tall / square calls"]
    assert [crossover(one, UnitModel("", 16, latency)) for latency in (0, 0.5, 10**6)] == [
        None, 32, 32
    ]  # fmt: skip


def test_seidels_never_pays_where_a_unit_has_minplus_and_soon_where_it_has_not() -> None:
    for s in (4, 16, 256):
        for latency in LATENCIES:
            unit = UnitModel("", s, latency)
            for cpu in (0, 1, 10):
                assert crossover(COMPARISONS["distances / squaring"], unit, cpu) is None
            assert crossover(COMPARISONS["distances / squaring by the CPU"], unit, 0) is None
    free = UnitModel("", 16, 0)
    assert crossover(COMPARISONS["distances / squaring by the CPU"], free) == 11


@pytest.mark.parametrize("name", COMPARISONS)
def test_it_goes_on_to_pay(name: str) -> None:
    """The new algorithm is faster at all examined sizes from the crossover on, and not at the size
    before."""
    one = COMPARISONS[name]
    for s in (4, 16):
        sizes = one.sizes(s)
        assert sizes == sorted(set(sizes))
        for latency in (0, 300):
            for cpu in (0, 1):
                found = crossover(one, UnitModel("", s, latency), cpu)
                less = [
                    new.unit_time(s, latency) + cpu * new.cpu
                    < old.unit_time(s, latency) + cpu * old.cpu
                    for new, old in ((one.new(n, s), one.old(n, s)) for n in sizes)
                ]
                if found is None:
                    assert not less[-1]
                else:
                    first = sizes.index(found)
                    assert all(less[first:])
                    assert first == 0 or not less[first - 1]


RUNS: dict[str, tuple[Any, Any, Any]] = {
    "strassen / standard": (strassen, standard, lambda n: np.ones((n, n), int)),
    "strassen / tall": (strassen, tall, lambda n: np.ones((n, n), int)),
    "karatsuba / schoolbook": (karatsuba, schoolbook, lambda n: 2 ** (30 * n) - 1),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_agree(name: str) -> None:
    """Time of both, run, on the two sizes between which one begins to pay."""
    new, old, operand = RUNS[name]
    one, latency = COMPARISONS[name], 4
    found = crossover(one, UnitModel("", 4, latency), cpu=0)
    assert found is not None
    before = one.sizes(4)[one.sizes(4).index(found) - 1]
    for n, pays in ((before, False), (found, True)):
        times = []
        for algorithm in (new, old):
            unit = TensorUnit(NumpyBackend(4), INT64, latency)
            algorithm(unit, operand(n), operand(n))
            times.append(unit.unit_time)
        assert (times[0] < times[1]) == pays


class Counted:
    """A number that counts the operations on it."""

    adds = multiplies = 0

    def __add__(self, other: object) -> Counted:
        Counted.adds += 1
        return self

    def __radd__(self, other: object) -> Counted:
        assert other == 0  # where a sum begins
        return self

    def __mul__(self, other: object) -> Counted:
        Counted.multiplies += 1
        return self


def test_sweeps_one_by_one_as_counted() -> None:
    """A sweep by the definition, its sums and products counted where they are taken."""
    n, k = 6, 3
    grid, weights = (np.full((side, side), Counted(), object) for side in (n, 3))
    swept(grid, weights, k, "periodic")
    cost = stencils.sweeps(n, k)
    assert (cost.cpu_adds, cost.cpu_multiplies) == (Counted.adds, Counted.multiplies)
    assert cost.cpu == Counted.adds + Counted.multiplies
