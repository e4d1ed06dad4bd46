"""Words: against Python's integers, fractions of definitions, and their refusals."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX,
    COMPLEX64,
    FP32,
    FP64,
    INT64,
    MINPLUS,
    WordOverflow,
    Words,
    integer,
    modular,
)

ALL: tuple[Words, ...] = (
    FP32,
    FP64,
    COMPLEX64,
    COMPLEX,
    INT64,
    integer(8),
    modular(2),
    modular(998244353),
    modular(2**61 - 1),
    BOOLEAN,
    MINPLUS,
)
MODULI = (2, 3, 17, 65537, 998244353, 2**31 - 1, 2**32 - 5, 2**41 - 21, 2**61 - 1, 2**62)


@pytest.mark.parametrize("words", ALL, ids=lambda words: words.name)
def test_identities(words: Words) -> None:
    x = words.array(np.array([[0, 1], [1, 0]]))
    zeros = np.full_like(x, words.zero)
    eye = np.where(np.eye(2, dtype=bool), words.one, words.zero).astype(words.dtype)
    assert x.dtype == zeros.dtype == eye.dtype == words.dtype
    np.testing.assert_array_equal(words.add(x, zeros), x)
    np.testing.assert_array_equal(words.multiply(x, np.full_like(x, words.one)), x)
    np.testing.assert_array_equal(words.multiply(x, zeros), zeros)
    np.testing.assert_array_equal(words.product(x, eye), x)
    np.testing.assert_array_equal(words.product(zeros, x), zeros)
    assert words.product(x, x).dtype == words.dtype
    assert isinstance(words, Words)
    assert hash(words) == hash(words)


@pytest.mark.parametrize("words", ALL, ids=lambda words: words.name)
def test_what_cannot_be_undone_is_refused(words: Words) -> None:
    x = words.array(np.array([1]))
    for verb, has in (("subtract", words.subtracts), ("divide", words.divides)):
        if has:
            assert getattr(words, verb)(x, x).dtype == words.dtype
        else:
            done = {"subtract": "subtracted", "divide": "divided"}[verb]
            with pytest.raises(
                TypeError, match=f"^words of {re.escape(words.name)} cannot be {done}$"
            ):
                getattr(words, verb)(x, x)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_residues_are_those_of_integers(data: st.DataObject) -> None:
    p = data.draw(st.sampled_from(MODULI))
    words = modular(p)
    numbers = st.integers(0, p - 1) | st.just(p - 1)
    n, k = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 9))
    a = [[data.draw(numbers) for _ in range(k)] for _ in range(n)]
    b = [[data.draw(numbers) for _ in range(n)] for _ in range(k)]
    x, y = words.array(a), words.array(b)
    exact = np.array(a, object) @ np.array(b, object) % p
    assert words.product(x, y).tolist() == exact.tolist()
    column = y[:, 0]
    pairs = list(zip(a[0], column.tolist(), strict=True))
    assert words.add(x[0], column).tolist() == [(u + v) % p for u, v in pairs]
    assert words.subtract(x[0], column).tolist() == [(u - v) % p for u, v in pairs]
    assert words.multiply(x[0], column).tolist() == [u * v % p for u, v in pairs]


@pytest.mark.parametrize("p", [p for p in MODULI if p not in (2**62,)])
def test_division_modulo_a_prime(p: int) -> None:
    words = modular(p)
    x = words.array([1, p - 1, p // 2, 5])
    y = words.array([1, p - 1, p - 1, 1])
    assert words.multiply(words.divide(x, y), y).tolist() == x.tolist()
    with pytest.raises(ZeroDivisionError, match=rf"^zero has no inverse in modular\({p}\)$"):
        words.divide(x, words.array([1, 1, 0, 1]))


def test_primes() -> None:
    primes = {n for n in range(2, 2000) if all(n % d for d in range(2, int(n**0.5) + 1))}
    assert {n for n in range(2, 2000) if modular(n).divides} == primes
    assert not modular(3215031751).divides  # a strong pseudoprime to 2, 3, 5 and 7
    assert not modular((2**31 - 1) * (2**31 - 1)).divides


def test_residues_of_any_integer() -> None:
    words = modular(97)
    assert words.array([-1, 97, 98]).tolist() == [96, 0, 1]
    assert words.array(np.array([2**64 - 1], np.uint64)).tolist() == [(2**64 - 1) % 97]
    assert words.array([10**40, -(10**40)]).tolist() == [10**40 % 97, -(10**40) % 97]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_integers_are_exact_or_an_error(data: st.DataObject) -> None:
    bits = data.draw(st.sampled_from((2, 8, 16, 32, 63, 64)))
    words = integer(bits)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    numbers = st.integers(low, high) | st.sampled_from((low, high)) | st.integers(-2, 1)
    k = data.draw(st.integers(1, 5))
    a = [data.draw(st.lists(numbers, min_size=k, max_size=k)) for _ in range(2)]
    x, y = words.array(a), words.array(a).T
    for found, exact in (
        (lambda: words.product(x, y), np.array(a, object) @ np.array(a, object).T),
        (lambda: words.add(x[0], x[1]), np.array(a[0], object) + np.array(a[1], object)),
        (lambda: words.subtract(x[0], x[1]), np.array(a[0], object) - np.array(a[1], object)),
        (lambda: words.multiply(x[0], x[1]), np.array(a[0], object) * np.array(a[1], object)),
    ):
        if all(low <= int(n) <= high for n in exact.flat):
            assert found().tolist() == exact.tolist()
        else:
            with pytest.raises(WordOverflow) as overflow:
                found()
            needed = overflow.value.needed
            assert all(-(2 ** (needed - 1)) <= int(n) < 2 ** (needed - 1) for n in exact.flat)
            half = 2 ** (needed - 2)
            assert not all(-half <= int(n) < half for n in exact.flat)


def test_overflow_names_bits() -> None:
    x = INT64.array([[2**40, 2**40]])
    with pytest.raises(
        WordOverflow, match=r"^words must have 83 bits to hold the result, not 64$"
    ) as overflow:
        INT64.product(x, x.T)
    assert (overflow.value.needed, overflow.value.bits) == (83, 64)
    assert INT64.array([-(2**63)]).tolist() == [-(2**63)]
    with pytest.raises(WordOverflow, match=r"^words must have 65 bits to hold the result, not 64$"):
        INT64.array(np.array([2**63], np.uint64))
    with pytest.raises(WordOverflow, match=r"^words must have 9 bits to hold the result, not 8$"):
        integer(8).array([128])


def test_boolean_and_minplus_products() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((7, 9)) < 0.2, rng.random((9, 5)) < 0.2
    either = [[any(a[i, k] and b[k, j] for k in range(9)) for j in range(5)] for i in range(7)]
    assert BOOLEAN.product(a, b).tolist() == either
    x = np.where(a, rng.integers(1, 9, a.shape), np.inf)
    y = np.where(b, rng.integers(1, 9, b.shape), np.inf)
    shortest = [[min(x[i, k] + y[k, j] for k in range(9)) for j in range(5)] for i in range(7)]
    assert MINPLUS.product(x, y).tolist() == shortest


def test_floats_round_once() -> None:
    third = FP32.array(1 / 3)
    assert third == np.float32(1 / 3)
    assert FP32.roundoff == 2.0**-24
    assert COMPLEX.roundoff == FP64.roundoff == 2.0**-53
    x = FP64.array([1.5, 2.5])
    assert FP64.array(x) is x


@pytest.mark.parametrize(
    ("words", "given", "error", "message"),
    [
        (FP64, [1j], TypeError, "words of fp64 must be real numbers, not complex128"),
        (COMPLEX, ["x"], TypeError, "words of complex must be numbers, not <U1"),
        (FP32, [1e39], ValueError, "words of fp32 do not hold the largest of the numbers given"),
        (INT64, [1.5], TypeError, "words of int64 must be integers, not float64"),
        (modular(5), [1.5], TypeError, "words of modular(5) must be integers, not float64"),
        (BOOLEAN, [2], ValueError, "words of boolean must be 0 or 1, not 2"),
        (BOOLEAN, [0.5], TypeError, "words of boolean must be booleans, 0 or 1, not float64"),
        (MINPLUS, [1j], TypeError, "words of minplus must be real numbers, not complex128"),
        (MINPLUS, [np.nan], ValueError, "words of minplus must be finite or inf, not nan or -inf"),
    ],
)
def test_numbers_of_another_kind(
    words: Words, given: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        words.array(given)


@pytest.mark.parametrize("words", ALL, ids=lambda words: words.name)
def test_shapes_of_products(words: Words) -> None:
    x = words.array(np.zeros((2, 3), int))
    message = "operands must be matrices (n, k) and (k, p), not of shapes (2, 3) and (2, 3)"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        words.product(x, x)


@pytest.mark.parametrize(
    ("make", "given", "error", "message"),
    [
        (integer, 1, ValueError, "`bits` must be in 2..64, not 1"),
        (integer, 8.0, TypeError, "`bits` must be an integer, not float"),
        (modular, 1, ValueError, "`modulus` must be in 2..2**62, not 1"),
        (modular, True, TypeError, "`modulus` must be an integer, not bool"),
    ],
)
def test_parameters_of_words(make: Any, given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        make(given)
