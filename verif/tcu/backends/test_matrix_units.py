"""The models of matrix units as backends: their words, numbers against fractions, cycles."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.tcu import TensorUnit
from tilewright.sim.tcu.hardware.held_words import KINDS, SIMD2_KIND
from tilewright.sim.tcu.hardware.matrix_unit import SIDES, MatrixUnitBackend
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
from tilewright.verif.tcu.backends.simulated import modelled_unit as modelled

ALL = (FP32, FP64, COMPLEX64, COMPLEX, INT64, integer(9), BOOLEAN, MINPLUS, modular(97))


@pytest.mark.parametrize(
    ("name", "held"),
    [("simd2", (FP32, FP64, INT64, integer(9), BOOLEAN, MINPLUS, modular(97))),
     ("m3xu", (FP32, COMPLEX64, INT64, integer(9), modular(97)))],
)  # fmt: skip
def test_what_a_unit_holds(name: str, held: tuple[Words, ...]) -> None:
    backend = modelled(name)
    for words in ALL:
        assert backend.holds(words) == (words in held)
        if words not in held:
            listed = ", ".join(KINDS[name].held)
            message = f"words of backend {name} must be {listed}, not {words.name}"
            with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
                TensorUnit(backend, words)
            with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
                backend.call_cycles(4, words)


@pytest.mark.parametrize(
    ("name", "side", "most"), [("simd2", 4, 2**30), ("simd2", 16, 2**29), ("m3xu", 4, 2**11),
                               ("m3xu", 16, 2**10)],
)  # fmt: skip
def test_residues_of_which_sums_of_products_fit(name: str, side: int, most: int) -> None:
    """s (p - 1)^2 is below 2^63 on simd2, below 2^24 on m3xu."""
    backend = modelled(name, side)
    words = modular(most)
    assert backend.holds(words)
    assert not backend.holds(modular(most * 3 // 2))
    largest = np.full((side, side), most - 1)
    found = backend.multiply(largest, largest, words)
    np.testing.assert_array_equal(found, side % most)
    assert backend.tally.remainders == side * side


@pytest.mark.parametrize("side", [1, 5, 32])
def test_other_sides_are_refused(side: int) -> None:
    message = f"`side` of backend simd2 must be one of 4, 8, 16, not {side}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        modelled("simd2", side)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", ["simd2", "m3xu"])
def test_real_sums_are_rounded_once(name: str, side: int) -> None:
    """A unit of these sizes equals the sum in fractions, rounded once, which no chain of roundings
    gives."""
    rng = np.random.default_rng(side)
    a, b, c = (
        rng.standard_normal((n, side)).astype(np.float32) for n in (side + 3, side, side + 3)
    )
    backend = modelled(name, side)
    found = backend.multiply_add(a, b, c, FP32)
    exact = [
        [sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(row, col, strict=True)),
             Fraction(float(start)))
         for col, start in zip(b.T, starts, strict=True)]
        for row, starts in zip(a, c, strict=True)
    ]  # fmt: skip
    for one, true in zip(found.flat, (x for row in exact for x in row), strict=True):
        half = Fraction(float(np.spacing(abs(one)))) / 2
        assert abs(Fraction(float(one)) - true) <= half
    assert backend.tally.operations == 2


def test_complex_sums_are_those_of_their_parts() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-9, 9, (8, 8)) + 1j * rng.integers(-9, 9, (8, 8)) for _ in range(2))
    found = modelled("m3xu", 8).multiply(COMPLEX64.array(a), COMPLEX64.array(b), COMPLEX64)
    assert found.dtype == np.complex64
    np.testing.assert_array_equal(found, a @ b)


def test_lengths_and_truth() -> None:
    backend, inf = modelled("simd2"), np.inf
    a = np.array([[0, 1, inf, inf], [inf, 0, 2.5, inf], [inf, inf, 0, 4], [7, inf, inf, 0]])
    expected = [[min(a[i, k] + a[k, j] for k in range(4)) for j in range(4)] for i in range(4)]
    np.testing.assert_array_equal(backend.multiply(a, a, MINPLUS), expected)
    edges = a < 3
    np.testing.assert_array_equal(
        backend.multiply(edges, edges, BOOLEAN), (edges.astype(int) @ edges) > 0
    )


@pytest.mark.parametrize(
    ("name", "bits"), [("simd2", 32), ("m3xu", 25)], ids=lambda value: str(value)
)
def test_operands_that_do_not_fit(name: str, bits: int) -> None:
    backend, one = modelled(name), np.eye(4, dtype=int)
    for held in (2 ** (bits - 1) - 1, -(2 ** (bits - 1))):
        np.testing.assert_array_equal(backend.multiply(one * held, one, INT64), one * held)
    before = backend.tally.cycles
    for beyond in (2 ** (bits - 1), -(2 ** (bits - 1)) - 1):
        message = (f"operands of backend {name} must be integers of at most {bits} bits, "
                   f"not of {bits + 1}")  # fmt: skip
        for a, b in ((one * beyond, one), (one, one * beyond)):
            with pytest.raises(WordOverflow, match=f"^{message}$"):
                backend.multiply(a, b, INT64)
    assert backend.tally.cycles == before


BITS = {"simd2": (32, 64), "m3xu": (25, 25)}


@st.composite
def products(draw: Any, bits: int) -> Any:
    """Draws operands of all sizes, so that sums are on both sides of the words' limit."""
    size = draw(st.integers(2, bits))
    one = st.integers(-(2 ** (size - 1)), 2 ** (size - 1) - 1)
    return [np.array(draw(st.lists(one, min_size=16, max_size=16))).reshape(4, 4)
            for _ in range(3)]  # fmt: skip


@pytest.mark.parametrize("name", ["simd2", "m3xu"])
def test_sums_fit_or_are_refused(name: str) -> None:
    operand, result = BITS[name]
    backend = modelled(name)

    @settings(deadline=None, max_examples=60)
    @given(products(operand))
    def holds(drawn: Any) -> None:
        a, b, c = drawn
        exact = a.astype(object) @ b.astype(object) + c
        if all(-(2 ** (result - 1)) <= x < 2 ** (result - 1) for x in exact.flat):
            found = backend.multiply_add(a, b, c, INT64)
            assert found.tolist() == exact.tolist()
        else:
            with pytest.raises(WordOverflow, match=f"^sums of backend {name} must be integers"):
                backend.multiply_add(a, b, c, INT64)

    holds()


def test_a_sum_that_wraps_around_is_named() -> None:
    a = np.full((4, 4), -(2**31))
    message = "sums of backend simd2 must be integers of at most 64 bits, not of 66"
    with pytest.raises(WordOverflow, match=f"^{message}$"):
        modelled("simd2").multiply(a, a, INT64)


def test_words_narrower_than_the_unit() -> None:
    words, backend = integer(9), modelled("simd2")
    a = np.full((4, 4), 100)
    with pytest.raises(WordOverflow, match=r"^words must have 17 bits to hold the result, not 9$"):
        backend.multiply(a, a, words)
    assert backend.config(SIMD2_KIND.holds(words, 4)).format == "int16"  # type: ignore[attr-defined]


@pytest.mark.parametrize("side", SIDES)
def test_cycles_of_a_call(side: int) -> None:
    """A call follows the interval and latency of its unit, with one operation per s rows."""
    for name, words, interval, latency in (
        ("simd2", FP64, 1, 5), ("simd2", BOOLEAN, 1, 5), ("m3xu", FP32, 2, 6),
        ("m3xu", COMPLEX64, 4, 8),
    ):  # fmt: skip
        backend = modelled(name, side)
        for rows in range(side, 5 * side + 2):
            operations = -(-rows // side)
            cycles = (operations - 1) * interval + latency + 1
            assert backend.call_cycles(rows, words) == cycles
        a, b = (words.array(np.ones((n, side), int)) for n in (2 * side + 1, side))
        backend.multiply(a, b, words)
        assert backend.cycles == 2 * interval + latency + 1
        assert backend.tally.operations == 3
        assert backend.tally.sent == 3 * 2 * side * side  # the block of B is sent with each
        backend.multiply_add(a, b, a, words)
        assert backend.tally.sent == 3 * 5 * side * side


def test_a_configuration_of_ones_own() -> None:
    def configure(held: Any) -> Simd2Config:
        return Simd2Config(**SIMD2_KIND.settings(held, 4), pipeline=1, multiplier_bits=12)

    backend = MatrixUnitBackend(SIMD2_KIND, 4, configure=configure)
    assert [backend.call_cycles(n, FP32) for n in (4, 8)] == [4, 6]
