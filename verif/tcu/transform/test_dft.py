"""Transforms: results beside SciPy's, counts beside formulas and the theorem's table."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit, UnitWork
from tilewright.sim.tcu.formulas import transform as costs
from tilewright.sim.tcu.formulas.transform import COMPLEX_WORDS, REALS, fast_length, radices
from tilewright.sim.tcu.transform.dft import dft, inverse_dft
from tilewright.sim.tcu.transform.rounding import transform_error
from tilewright.sim.tcu.words import BOOLEAN, COMPLEX, COMPLEX64, FP32, FP64, INT64, Array
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.reference_units import unit_of

FLOATS = (FP32, FP64, COMPLEX64, COMPLEX)


def drawn(words: Floats, seed: int, *shape: int) -> Array:
    """Complex numbers of the words' precision."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return x.astype(np.result_type(words.dtype, np.complex64))


def distance(found: Array, expected: Array) -> float:
    """The largest relative error of a signal, in the 2-norm."""
    norms = np.linalg.norm(found - expected, axis=-1) / np.linalg.norm(expected, axis=-1)
    return float(np.max(norms))


@pytest.mark.parametrize("words", FLOATS, ids=lambda words: words.name)
@pytest.mark.parametrize("s", slow_but([4], among=(2, 4, 8, 16)))
def test_every_length_up_to_70(words: Floats, s: int) -> None:
    """The reference is SciPy's transform in double precision; the smallest bound includes its
    error."""
    number = COMPLEX_WORDS if words.dtype.kind == "c" else REALS
    for n in range(1, 71):
        x = drawn(words, n, 2, n)
        unit = unit_of(s, words)
        found = dft(unit, x)
        assert found.dtype == x.dtype
        bound = transform_error(n, s, words) + 2.0**-50
        assert distance(found, scipy.fft.fft(x.astype(complex))) <= bound
        assert unit.cost == costs.transforms(2, n, s, False, number)
        assert unit.cost.work == costs.transforms(2, n, s, False, number).work
        assert unit.cost.fused_calls == 0
        back = inverse_dft(unit, x)
        assert distance(back, scipy.fft.ifft(x.astype(complex))) <= bound
        assert unit.cost.work == costs.transforms(2, n, s, False, number).work * 2


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 3), st.integers(1, 60), st.integers(2, 9), st.booleans(),
    st.sampled_from(FLOATS), st.integers(0, 99),
)  # fmt: skip
def test_back_and_forth(count: int, n: int, s: int, weak: bool, words: Floats, seed: int) -> None:
    x = drawn(words, seed, count, n)
    unit = unit_of(s, words, weak)
    found = dft(unit, x)
    number = COMPLEX_WORDS if words.dtype.kind == "c" else REALS
    assert unit.cost == costs.transforms(count, n, s, weak, number)
    assert unit.cost.work == costs.transforms(count, n, s, weak, number).work
    error = transform_error(n, s, words)
    assert distance(inverse_dft(unit, found), x) <= (1 + error) ** 2 - 1 + 2.0**-50


def test_a_signal_is_a_row_and_a_real_one_complex() -> None:
    x = np.arange(12.0)
    found = dft(unit_of(4, FP64), x)
    assert found.shape == (12,)
    np.testing.assert_allclose(found, scipy.fft.fft(x), atol=1e-12)
    np.testing.assert_array_equal(dft(unit_of(4, FP64), x[None])[0], found)


@pytest.mark.parametrize("s", [4, 8, 16])
def test_counts_are_those_of_the_theorem(s: int) -> None:
    """Powers of s: 4 log_s n calls, time 4 (n + l) log_s n; of s itself the rows are padded.
    Several signals are a longer one of as many levels."""
    for h, count in product(range(1, 4 + (s == 4)), (1, 3, 5)):
        n = s**h
        for calls, words in ((4, FP64), (1, COMPLEX)):
            unit = TensorUnit(NumpyBackend(s), words, latency=1000)
            dft(unit, drawn(words, h, count, n))
            rows = max(count * n // s, s)
            assert unit.cost.work == UnitWork(calls * h, calls * h * rows)
            assert unit.unit_time == calls * h * (max(count * n, s * s) + 1000)
            if count == 1:
                assert unit.cost == (costs.dft_complex if calls == 1 else costs.dft)(n, s)
    for h in range(2, 11):
        n = s**h
        assert costs.dft(n, s).work == UnitWork(4 * h, 4 * h * n // s)
        assert costs.dft(n, s).unit_time(s, 7) == 4 * (n + 7) * h
        assert costs.dft_complex(n, s).unit_time(s, 7) == (n + 7) * h
        assert costs.dft(n, s).cpu == n * (8 * h - 2)
        assert costs.dft_complex(n, s).cpu == n * (h + 1)


@pytest.mark.parametrize("s", [4, 8, 16])
def test_counts_of_other_lengths_are_the_formulas(s: int) -> None:
    """Small factors share rows, what does not fill them is padded, primes above s are chirps."""
    for n in (1, 2, 3, 5, 6, s, 2 * s, 17, 37, 3 * s + 1, 6 * s, s * (s - 1), 240, 251):
        for weak in (False, True):
            for words, name in ((FP64, "dft"), (COMPLEX, "dft_complex")):
                unit = unit_of(s, words, weak)
                dft(unit, drawn(words, n, n))
                assert unit.cost.work == getattr(costs, name)(n, s, weak).work
                assert unit.cost == getattr(costs, name)(n, s, weak)


def test_powers_of_two_take_as_long_as_powers_of_s() -> None:
    """A level of a smaller factor streams n words too, as its transforms share rows."""
    for h in range(8, 20):
        levels = -(-h // 4)
        assert costs.dft_complex(2**h, 16).unit_time(16, 3) == levels * (2**h + 3)


def test_work_of_the_cpu_grows_as_the_theorem_says() -> None:
    """n log_s n words, measured and, far beyond what runs, by the formula."""
    measured, sizes = [], [2**h for h in range(4, 13)]
    for n in sizes:
        unit = unit_of(2, COMPLEX)
        dft(unit, np.ones(n, complex))
        measured.append(unit.cost.cpu / math.log2(n))
    assert fitted(sizes, measured) == pytest.approx(1, abs=0.05)
    for s in (4, 8, 16):
        large = [s**h for h in range(10, 20)]
        far = [costs.dft(n, s).cpu / math.log(n, s) for n in large]
        assert fitted(large, far) == pytest.approx(1, abs=0.005)


def fitted(sizes: list[int], words: list[float]) -> float:
    return float(np.polyfit(np.log(np.array(sizes, float)), np.log(words), 1)[0])


def test_fast_lengths_are_the_least() -> None:
    for s in (2, 3, 4, 5, 8, 9, 16, 31, 32, 33, 64):
        least = 400
        for n in range(400, 0, -1):
            if radices(n, s) is not None:
                least = n
            # The next one that has factors, if there is one up to 400.
            if radices(least, s) is not None:
                assert fast_length(n, s) == least
    assert fast_length(2 * 10**9 + 13, 2) == 2**31
    assert fast_length(2 * 10**9 + 13, 16) == 2000376000


def test_factors_and_lengths() -> None:
    assert [radices(n, 16) for n in (1, 7, 256, 48, 17, 360)] == [
        (), (7,), (16, 16), (16, 3), None, (15, 12, 2),
    ]  # fmt: skip
    assert [fast_length(n, 4) for n in (1, 5, 17, 25)] == [1, 6, 18, 27]
    assert fast_length(17, 4, 7680) == 24
    message = "roots must be of an order of 1600 or more, with factors of at most 4, which does "
    with pytest.raises(ValueError, match=f"^{message}not divide 7680$"):
        fast_length(1600, 4, 7680)


@pytest.mark.parametrize(
    ("unit", "x", "modulus", "message"),
    [
        (unit_of(1, FP64), np.ones(4), None, "`s` must be 2 or more for transforms, not 1"),
        (unit_of(4, FP64), np.ones(0), None, "`x` must be a signal, or rows of signals, not of "
         "shape (0,)"),
        (unit_of(4, FP64), np.ones((2, 2, 2)), None, "`x` must be a signal, or rows of signals, "
         "not of shape (2, 2, 2)"),
        (unit_of(4, BOOLEAN), np.ones(4, bool), None, "words of a transform must be fp32 or fp64 "
         "or complex64 or complex or modular, not boolean"),
        (unit_of(4, INT64), np.ones(4, int), None, "`modulus` must be given for words of int64: a "
         "prime"),
        (unit_of(4, FP64), np.ones(4), 17, "`modulus` must come with words of integers, not fp64"),
        (unit_of(4, FP32), np.array([1e300]), None, "words of fp32 do not hold the largest of the "
         "numbers given"),
    ],
)  # fmt: skip
def test_refusals(unit: TensorUnit, x: Any, modulus: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        dft(unit, x, modulus)
    assert unit.cost == Cost()
