"""Transforms modulo primes: the definition in Python's integers; results put together again."""

from __future__ import annotations

import re
from decimal import Decimal, getcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit
from tilewright.sim.tcu.formulas import transform as costs
from tilewright.sim.tcu.formulas.transform import INTEGERS, RESIDUES
from tilewright.sim.tcu.transform.complex_numbers import unit_roots
from tilewright.sim.tcu.transform.dft import dft, inverse_dft
from tilewright.sim.tcu.transform.residues import (
    fields_for,
    largest_modulus,
    primes_with_roots,
    root_of_unity,
    together,
)
from tilewright.sim.tcu.transform.rounding import transform_error
from tilewright.sim.tcu.words import (
    COMPLEX,
    FP32,
    FP64,
    INT64,
    Array,
    WordOverflow,
    Words,
    integer,
    modular,
)
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.tcu.backends.simulated import modelled
from tilewright.verif.tcu.reference_units import unit_of

LARGE = next(primes_with_roots(5040 * 32, 1 << 62))


@pytest.mark.parametrize("s", [2, 4, 8, 16])
@pytest.mark.parametrize(
    ("words", "modulus"),
    [(modular(7681), None), (INT64, 7681), (modular(LARGE), None)],
    ids=["modular", "int64", "modular-62-bits"],
)
def test_every_length_that_has_roots(words: Words, modulus: int | None, s: int) -> None:
    p = modulus or int(words.name[8:-1])
    rng = np.random.default_rng(s)
    lengths = [n for n in range(1, 71) if (p - 1) % n == 0]
    assert len(lengths) > 10
    for n in lengths:
        unit = unit_of(s, words)
        x, y = rng.integers(0, p, (2, n))
        seen = dft(unit, x, modulus)
        order = p - 1
        number = INTEGERS if modulus else RESIDUES
        assert unit.cost == costs.transforms(1, n, s, False, number, order)
        assert unit.cost.work == costs.transforms(1, n, s, False, number, order).work
        # Powers of a root of order n: that of a one behind a zero.
        unit_of_one = np.arange(n) == 1
        roots = [int(w) for w in dft(unit, unit_of_one.astype(int), modulus)] if n > 1 else [1]
        assert sorted(set(roots)) == sorted(roots)
        assert all(pow(roots[1 % n], k, p) == w for k, w in enumerate(roots))
        by_definition = [
            sum(int(x[j]) * roots[j * k % n] for j in range(n)) % p for k in range(n)
        ]  # fmt: skip
        assert seen.tolist() == by_definition
        assert inverse_dft(unit, seen, modulus).tolist() == x.tolist()
        both = dft(unit, np.stack([x, y]), modulus)
        assert both[0].tolist() == seen.tolist()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5), st.integers(2, 16))
def test_integers_come_back_from_their_residues(numbers: list[int], s: int) -> None:
    fields = fields_for(unit_of(s, INT64), 24, 2**63)
    assert len({field.modulus for field in fields}) == len(fields) == 3
    unit = unit_of(s, INT64)
    residues = [np.array([n % field.modulus for n in numbers]) for field in fields]
    assert together(unit, fields, residues).tolist() == numbers
    assert unit.cost == costs.together(len(numbers), 3)


def test_integers_that_words_do_not_hold_are_told() -> None:
    fields = fields_for(unit_of(4, integer(32)), 8, 2**40)
    residues = [np.array([2**40 % field.modulus]) for field in fields]
    with pytest.raises(WordOverflow, match=r"^words must have 42 bits to hold the result, not 32$"):
        together(unit_of(4, integer(32)), fields, residues)


def test_sums_of_residues_fit_the_words() -> None:
    """The largest residues there are, on words of few bits: nothing overflows."""
    for bits in (12, 24, 64):
        for s in (2, 8):
            unit = unit_of(s, integer(bits))
            (field, *_) = fields_for(unit, 2, 5)
            x = np.full((s, s), field.modulus - 1)
            assert s * (field.modulus - 1) ** 2 < 2 ** (bits - 1)
            expected = x.astype(object) @ x.astype(object) % field.modulus
            assert field.product(unit, x, x).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["simd2", "m3xu", "gta"])
@pytest.mark.parametrize("words", [integer(12), integer(25), integer(33), INT64])
def test_sums_of_residues_fit_the_hardware(name: str, words: Words) -> None:
    """Words wider than the hardware also accept the largest modulus, but no larger one."""
    unit = TensorUnit(modelled(name), words)
    largest = largest_modulus(unit) - 1
    x = np.full((4, 4), largest)
    assert unit.multiply(x, x).tolist() == (4 * x.astype(object) ** 2).tolist()
    with pytest.raises(WordOverflow):
        unit.multiply(x + 1, x + 1)


def test_primes_and_roots() -> None:
    assert list(primes_with_roots(24, 200)) == [193, 97, 73]
    assert list(primes_with_roots(1, 20)) == [19, 17, 13, 11, 7, 5, 3]
    for prime, n in ((193, 24), (97, 96), (7, 1), (3, 2)):
        root = root_of_unity(n, prime)
        assert [k for k in range(1, n + 1) if pow(root, k, prime) == 1] == [n]


@pytest.mark.parametrize(
    ("words", "n", "modulus", "message"),
    [
        (modular(15), 2, None, "`modulus` must be a prime, not 15"),
        (modular(7), 4, None, "lengths of residues modulo 7 must divide 6, not 4"),
        (modular(11), 5, None, "roots must be of an order of 9 or more, with factors of at most "
         "4, which does not divide 10"),
        (INT64, 4, 2**40, "`modulus` must be in 2..1518500250 for int64 and a unit of side 4, not "
         "1099511627776"),
        (INT64, 4, 1, "`modulus` must be in 2..1518500250 for int64 and a unit of side 4, not 1"),
    ],
)  # fmt: skip
def test_refusals(words: Words, n: int, modulus: int | None, message: str) -> None:
    unit = unit_of(4, words)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        dft(unit, np.ones(n, int), modulus)
    assert unit.cost == Cost()


def test_words_without_enough_primes_are_refused() -> None:
    message = (
        "primes of at most 23, as int12 and a unit of side 4 take, that are 1 modulo 8 must hold "
        "results of 11 bits, which they do not"
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        fields_for(unit_of(4, integer(12)), 8, 2000)
    message = message.replace("23, as int12", "2048, as int64 on m3xu").replace(
        "8 must", "900 must"
    )
    with pytest.raises(ValueError, match=f"^{message.replace('11 bits', '41 bits')}$"):
        fields_for(TensorUnit(modelled("m3xu"), INT64), 900, 2**40)


def test_other_numbers_are_refused() -> None:
    given: Any = np.array([0.5, 1])
    with pytest.raises(TypeError, match=r"^words of modular\(17\) must be integers, not float64$"):
        dft(unit_of(4, modular(17)), given)


# Bounds of transforms of floats, beside the definition in fractions.

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
    """Returns the n powers of ``exp(-2 pi i / n)``."""
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
    """Computes the transform by its definition."""
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
