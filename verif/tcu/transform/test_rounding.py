"""Bounds of transforms of floats, beside the definition in fractions."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from tilewright.sim.tcu import NumpyBackend, TensorUnit
from tilewright.sim.tcu.transform.complex_numbers import unit_roots
from tilewright.sim.tcu.transform.dft import dft, inverse_dft
from tilewright.sim.tcu.transform.rounding import transform_error
from tilewright.sim.tcu.words import COMPLEX, FP32, FP64, Array
from tilewright.sim.tcu.words.floats import Floats

getcontext().prec = 40
# Machin's formula, in fractions.
PI = 4 * sum(
    (
        Fraction((-1) ** k, 2 * k + 1)
        * (4 * Fraction(1, 5) ** (2 * k + 1) - Fraction(1, 239) ** (2 * k + 1))
        for k in range(30)
    ),
    Fraction(0),
)


def root(n: int) -> tuple[Fraction, Fraction]:
    """Cosine and sine of a turn's n-th part, by their series, to far below 1e-30."""
    angle = (2 * PI / n).limit_denominator(10**45)
    parts = [Fraction(0), Fraction(0)]
    term = Fraction(1)
    for k in range(60):
        parts[k % 2] += term * (-1 if k % 4 > 1 else 1)
        term = (term * angle / (k + 1)).limit_denominator(10**50)
    return parts[0], parts[1]


def powers(n: int) -> list[tuple[Fraction, Fraction]]:
    """Of ``exp(-2 pi i / n)``."""
    cosine, sine = root(n)
    found = [(Fraction(1), Fraction(0))]
    for _ in range(1, n):
        re, im = found[-1]
        found.append(
            (
                (re * cosine + im * sine).limit_denominator(10**40),
                (im * cosine - re * sine).limit_denominator(10**40),
            )
        )
    return found


def transformed(x: Array) -> list[tuple[Fraction, Fraction]]:
    """By the definition."""
    n = len(x)
    roots = powers(n)
    parts = [(Fraction(float(z.real)), Fraction(float(z.imag))) for z in x]
    found = []
    for k in range(n):
        re = im = Fraction(0)
        for j, (a, b) in enumerate(parts):
            c, d = roots[j * k % n]
            re, im = re + a * c - b * d, im + a * d + b * c
        found.append((re, im))
    return found


def distance(found: Array, expected: list[tuple[Fraction, Fraction]]) -> float:
    square = sum(
        (Fraction(float(z.real)) - re) ** 2 + (Fraction(float(z.imag)) - im) ** 2
        for z, (re, im) in zip(found, expected, strict=True)
    )
    norm = sum(re**2 + im**2 for re, im in expected)
    ratio = Fraction(square) / norm
    return float((Decimal(ratio.numerator) / Decimal(ratio.denominator)).sqrt())


@pytest.mark.parametrize("n", [3, 16, 1000])
def test_roots_are_within_their_bound(n: int) -> None:
    exponents = np.array([0, 1, n // 8, n // 4, n // 3, n // 2, n - 1, -1, 5 * n + 2])
    cosine, sine = root(n)
    for k, z in zip(exponents, unit_roots(n, exponents), strict=True):
        re, im = Fraction(1), Fraction(0)
        for _ in range(int(k) % n):
            re, im = (
                (re * cosine + im * sine).limit_denominator(10**40),
                (im * cosine - re * sine).limit_denominator(10**40),
            )
        error = (Fraction(float(z.real)) - re) ** 2 + (Fraction(float(z.imag)) - im) ** 2
        assert float(error) ** 0.5 <= 8 * 2.0**-53


@pytest.mark.parametrize("words", [FP32, FP64, COMPLEX], ids=lambda words: words.name)
def test_transforms_are_within_the_bound(words: Floats) -> None:
    for n, s in ((8, 2), (16, 4), (27, 4), (11, 4), (26, 4), (32, 16)):
        rng = np.random.default_rng(n)
        x = (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(
            np.result_type(words.dtype, np.complex64)
        )
        error = transform_error(n, s, words)
        unit = TensorUnit(NumpyBackend(s), words)
        assert distance(dft(unit, x), transformed(x)) <= error
        turned = [(re / n, im / n) for re, im in transformed(x[-np.arange(n) % n])]
        assert distance(inverse_dft(unit, x), turned) <= error
        assert error < 1e5 * words.roundoff  # it says something
