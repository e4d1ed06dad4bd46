"""Errors of products of floats, against fractions, beside the stated bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu import NumpyBackend, TensorUnit
from tilewright.sim.tcu.dense.bilinear import Bilinear
from tilewright.sim.tcu.dense.recursive import recursive
from tilewright.sim.tcu.dense.rounding import gamma, product_error, recursive_error
from tilewright.sim.tcu.dense.schemes import STANDARD, STRASSEN
from tilewright.sim.tcu.dense.tall import rectangular
from tilewright.sim.tcu.words import COMPLEX, COMPLEX64, FP32, FP64, Array
from tilewright.sim.tcu.words.floats import Floats

SOME = (FP32, FP64, COMPLEX64)


def parts(x: Array) -> tuple[Array, Array]:
    exact = np.vectorize(Fraction, otypes=[object])
    return exact(np.real(x).astype(float)), exact(np.imag(x).astype(float))


def errors(found: Array, a: Array, b: Array) -> Array:
    """Distances from the product in fractions."""
    (ar, ai), (br, bi), (cr, ci) = parts(a), parts(b), parts(found)
    real, imaginary = cr - (ar @ br - ai @ bi), ci - (ar @ bi + ai @ br)
    return np.hypot(real.astype(float), imaginary.astype(float))


def drawn(words: Floats, seed: int, *shape: int) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 6, shape)
    if words.dtype.kind == "c":
        return words.array(x + 1j * rng.standard_normal(shape))
    return words.array(x)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from((FP32, FP64, COMPLEX64, COMPLEX)),
    st.tuples(*[st.integers(1, 12)] * 3), st.integers(1, 5), st.integers(0, 999),
)  # fmt: skip
def test_blocks_are_within_the_bound(
    words: Floats, shape: tuple[int, int, int], s: int, seed: int
) -> None:
    n, k, p = shape
    a, b = drawn(words, seed, n, k), drawn(words, seed + 1, k, p)
    found = rectangular(TensorUnit(NumpyBackend(s), words), a, b)
    assert found.dtype == words.dtype
    assert np.all(errors(found, a, b) <= product_error(a, b, words))


@pytest.mark.parametrize("scheme", [STANDARD, STRASSEN], ids=lambda one: one.name)
@pytest.mark.parametrize("words", SOME, ids=lambda words: words.name)
def test_recursion_is_within_the_bound(scheme: Bilinear, words: Floats) -> None:
    for n, s in ((4, 4), (7, 2), (16, 2), (24, 4), (16, 1)):
        a, b = drawn(words, n, n, n), drawn(words, n + 1, n, n)
        found = recursive(TensorUnit(NumpyBackend(s), words), scheme, a, b)
        largest = float(np.abs(a).max()) * float(np.abs(b).max())
        bound = recursive_error(scheme, n, s, words) * largest
        worst = errors(found, a, b).max()
        assert worst <= bound
        assert bound < largest * 0.1  # it says something


def test_strassens_bound_grows_faster() -> None:
    """About 18 times a level (Higham, chapter 23), where that of the standard recursion doubles as
    elements of the product do."""
    for scheme, ratio in ((STANDARD, 2), (STRASSEN, 18)):
        far = [recursive_error(scheme, n, 4, FP64) for n in (2**14, 2**15)]
        assert far[1] / far[0] == pytest.approx(ratio, rel=0.1)
    assert recursive_error(STANDARD, 4, 4, FP64) == 4 * gamma(4, FP64)
