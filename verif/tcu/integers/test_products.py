"""Products of long integers: Python's, counts beside formulas and the paper, refusals."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu import Cost, UnitWork
from tilewright.sim.tcu.formulas import integers as costs
from tilewright.sim.tcu.integers.karatsuba import karatsuba
from tilewright.sim.tcu.integers.schoolbook import schoolbook
from tilewright.sim.tcu.words import FP64, INT64, Words, integer
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.reference_units import SIDES, unit_of

pytestmark = pytest.mark.quick

Algorithm = Callable[..., int]
BOTH: tuple[Algorithm, ...] = (schoolbook, karatsuba)


def drawn(bits: int, seed: int) -> int:
    """Draws an integer of exactly ``bits`` bits."""
    return random.Random(seed).getrandbits(bits) | 1 << (bits - 1)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**300), st.integers(0, 2**300), st.integers(1, 9), st.booleans(),
    st.sampled_from([(64, None), (64, 16), (64, 1), (24, None), (24, 6), (16, 5)]),
    st.integers(1, 8),
)  # fmt: skip
def test_small_integers(
    a: int, b: int, s: int, weak: bool, kinds: tuple[int, int | None], base: int
) -> None:
    bits, piece = kinds
    words = integer(bits)
    assert schoolbook(unit_of(s, words, weak), a, b, piece) == a * b
    assert karatsuba(unit_of(s, words, weak), a, b, piece, base) == a * b


@pytest.mark.parametrize("algorithm", BOTH)
def test_every_number_of_pieces_up_to_70(algorithm: Algorithm) -> None:
    """All ones among them: every coefficient is as large, every sum of halves carries."""
    for n in range(1, 71):
        ones, others = (1 << 30 * n) - 1, drawn(30 * n, n)
        assert algorithm(unit_of(4), ones, ones) == ones * ones
        assert algorithm(unit_of(4), ones, others) == ones * others
        assert algorithm(unit_of(4), others, drawn(17 * n, n + 100)) == others * drawn(
            17 * n, n + 100
        )
        assert algorithm(unit_of(4), others, 0) == algorithm(unit_of(4), 0, others) == 0


@pytest.mark.parametrize("s", SIDES)
def test_the_carry_bits_of_the_middle_term(s: int) -> None:
    """Both sums, one or none of them have a carry bit, in recursions down to single pieces."""
    piece = costs.piece_bits(s)
    half = 8 * piece
    full = (1 << half) - 1
    carry, none = full << half | full, 1 << (2 * half - 1) | 1
    for a, b in ((carry, carry), (carry, none), (none, carry), (none, none)):
        for base in (1, 2, 8):
            unit = unit_of(s)
            assert karatsuba(unit, a, b, base=base) == a * b
            assert unit.cost == costs.karatsuba(16, s, base=base)


@pytest.mark.parametrize("s", SIDES)
def test_counts_are_those_of_the_theorems(s: int) -> None:
    m = s * s
    for q in range(1, 9):
        n = q * m
        a = drawn(16 * n, q)
        unit = unit_of(s)
        assert schoolbook(unit, a, a, 16) == a * a
        assert unit.cost.work == costs.schoolbook(n, s).work == UnitWork(q, q * (n + s - 1))
        assert unit.unit_time == (n + s - 1) * s * n // m
        assert unit.cost == costs.schoolbook(n, s, piece=16)
        elements = n // s * (n + s - 1)
        moves = n + 2 * (s - 1) + n + 2 * n
        assert unit.cost == Cost(q, q * (n + s - 1), 0, elements + 2 * n, 2 * n, moves)
        weak = unit_of(s, weak=True)
        schoolbook(weak, a, a, 16)
        assert weak.cost.work == UnitWork(q * (n // s + 1), q * (n + s))
        assert weak.cost == costs.schoolbook(n, s, weak=True, piece=16)


@pytest.mark.parametrize("s", slow_but([4], among=SIDES))
def test_karatsuba_is_powers_of_three_of_the_schoolbook(s: int) -> None:
    base, piece = s * s, costs.piece_bits(s)
    for h, least in ((0, 1), (0, base), (1, base), (2, base - 3), (3, base // 2 + 1), (3, base),
                     (4, base // 2 + 2), (4, base)):  # fmt: skip
        n = least * 2**h
        ones = (1 << n * piece) - 1
        unit = unit_of(s)
        assert karatsuba(unit, ones, ones) == ones * ones
        assert unit.cost.work == costs.schoolbook(least, s).work * 3**h
        assert unit.cost.work == UnitWork(3**h, 3**h * (least + s - 1))
        assert unit.cost == costs.karatsuba(n, s)
    for n in (base + 1, 3 * base - 1):
        unit = unit_of(s, weak=True)
        a = drawn(n * piece, n)
        assert karatsuba(unit, a, a) == a * a
        assert unit.cost == costs.karatsuba(n, s, weak=True)


@pytest.mark.parametrize("s", slow_but([4], among=SIDES))
def test_counts_of_other_lengths_are_the_formulas(s: int) -> None:
    piece = costs.piece_bits(s)
    for p, q in ((1, 1), (s, 1), (s + 1, s), (40, 3), (s * s + 1, s * s), (90, 90), (99, 70),
                 (2 * s * s + 3, s * s + 5)):  # fmt: skip
        a, b = drawn(p * piece, p), drawn(q * piece, q)
        for weak in (False, True):
            for one, other in ((a, b), (b, a)):
                unit = unit_of(s, weak=weak)
                assert schoolbook(unit, one, other) == a * b
                assert unit.cost == costs.product(p, q, s, weak)
                assert unit.cost.work == costs.product(p, q, s, weak).work


@pytest.mark.parametrize(("s", "bits", "piece", "most"), [(16, 64, 29, 32), (4, 16, 6, 8)])
def test_sums_are_cut_only_where_words_do_not_hold_them(
    s: int, bits: int, piece: int, most: int
) -> None:
    for n, cuts in ((most, False), (most + 1, True)):
        assert costs.sums_fit(n, piece, bits) == (not cuts)
        ones = (1 << piece * n) - 1
        unit = unit_of(s, integer(bits))
        assert schoolbook(unit, ones, ones, piece) == ones * ones
        # Carries take a division of each of 2 n words, cuts one of each element.
        assert (unit.cost.cpu_multiplies > 2 * n) == cuts


def test_pieces_are_the_most_that_words_allow() -> None:
    for s in range(1, 70):
        for bits in range(2, 65):
            piece = costs.piece_bits(s, bits)
            if piece < 1:
                continue
            assert 2 * piece + math.log2(s) < bits
            assert s * ((1 << piece) - 1) ** 2 < 1 << (bits - 1)
            # Sums of s products of wider pieces do not, where s is a power of two.
            wider = 2 * (piece + 1) + math.log2(s)
            assert wider >= bits or s & (s - 1)
    assert [costs.piece_bits(s) for s in SIDES] == [30, 30, 29]


def as_printed(a: list[int], b: list[int], s: int, step: int) -> int:
    """The product by A' of the paper, ``step`` = -1, or by the ascending one, +1; pieces are of
    four bits, the lowest first."""
    n = len(a)
    around = dict(enumerate(a))
    total = 0
    for i in range(n + s - 1):
        for j in range(-(-n // s)):
            element = 0
            for t in range(s):
                row = n - 1 - i + t if step > 0 else n - i - 1 - t
                column = n - 1 - t - j * s
                element += around.get(row, 0) * (b[column] if 0 <= column < n else 0)
            power = 2 * (n - 1) - i - j * s
            if power >= 0:
                total += element << 4 * power
            else:
                assert step < 0 or not element
    return total


@pytest.mark.parametrize("s", [2, 4])
def test_descending_rows_as_the_paper_prints_them_give_wrong_products(s: int) -> None:
    """i + t does not cancel: all of 20 random products are wrong, and right if A' ascends."""
    rng = np.random.default_rng(s)
    for _ in range(20):
        a, b = rng.integers(1, 16, (2, 8)).tolist()
        true = sum(x << 4 * i for i, x in enumerate(a)) * sum(x << 4 * i for i, x in enumerate(b))
        assert as_printed(a, b, s, step=-1) != true
        assert as_printed(a, b, s, step=1) == true


def test_theorem_10_counts_less_than_a_call_at_its_base() -> None:
    """The theorem counts s + l / s at s pieces, for a call that takes at least m + l. From m pieces
    down, halving takes longer than the call that it replaces."""
    for s in SIDES:
        for latency in (0, 1000):
            one = costs.schoolbook(s, s).unit_time(s, latency)
            assert one >= s * s + latency > s + latency / s
        for n in range(2, s * s + 1, 2):
            whole, halves = (costs.karatsuba(n, s, base=b).work for b in (n, n // 2))
            assert halves.calls == 3
            assert halves.rows > whole.rows


def test_work_of_the_cpu_grows_as_the_theorems_say() -> None:
    """Exponents 2 and log2 3 in the number of pieces: measured, and by the formulas, closer."""
    for algorithm, options, exponent, sizes in (
        (schoolbook, {}, 2, [256, 512, 1024]),
        (karatsuba, {"base": 1}, math.log2(3), [64, 128, 256]),
    ):
        measured = []
        for n in sizes:
            unit, a = unit_of(1), drawn(16 * n, n)
            assert algorithm(unit, a, a, 16, **options) == a * a  # type: ignore[operator]
            measured.append(unit.cost.cpu)
        assert fitted(sizes, measured) == pytest.approx(exponent, abs=0.05)
    large = [2**h for h in range(16, 24)]
    for formula, exponent in ((costs.schoolbook, 2), (costs.karatsuba, math.log2(3))):
        far = [formula(n, 16).cpu for n in large]
        assert fitted(large, far) == pytest.approx(exponent, abs=0.005)


def fitted(sizes: list[int], words: list[int]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(words), 1)[0])


@pytest.mark.parametrize(
    "bits",
    slow_but([2**14], among=[2**14, 2**17, 2**20], default=[2**17]),
)
@pytest.mark.parametrize("algorithm", BOTH)
def test_long_integers(algorithm: Algorithm, bits: int) -> None:
    ones = (1 << bits) - 1
    for a, b in ((drawn(bits, 1), drawn(bits, 2)), (ones, ones), (drawn(bits, 3), bits)):
        unit = unit_of(16)
        assert algorithm(unit, a, b) == a * b
        assert unit.cost.fused_calls == 0


@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize(
    ("words", "arguments", "error", "message"),
    [
        (INT64, (-5, 3), ValueError, "`a` must be 0 or more, not negative"),
        (INT64, (5, -3), ValueError, "`b` must be 0 or more, not negative"),
        (INT64, (5, 3.0), TypeError, "`b` must be an integer, not float"),
        (INT64, (True, 3), TypeError, "`a` must be an integer, not bool"),
        (FP64, (5, 3), ValueError, "words of {name} must be integers, not fp64"),
        (integer(4), (5, 3), ValueError, "words of {name} on a unit of side 4 must have at least "
         "5 bits, not 4"),
        (INT64, (5, 3, 31), ValueError, "`piece` must be in 1..30 bits, for int64 to hold sums of "
         "4 products, not 31"),
        (INT64, (5, 3, 0), ValueError, "`piece` must be in 1..30 bits, for int64 to hold sums of "
         "4 products, not 0"),
        (INT64, (5, 3, 2.0), TypeError, "`piece` must be an integer, not float"),
    ],
)  # fmt: skip
def test_refusals(
    algorithm: Algorithm, words: Words, arguments: Any, error: type[Exception], message: str
) -> None:
    unit = unit_of(4, words)
    with pytest.raises(error) as raised:
        algorithm(unit, *arguments)
    assert str(raised.value) == message.format(name=algorithm.__name__)
    assert unit.cost == Cost()


def test_other_refusals() -> None:
    unit = unit_of(4)
    with pytest.raises(ValueError, match=r"^`base` must be 1 or more, not 0$"):
        karatsuba(unit, 5, 3, base=0)
    with pytest.raises(TypeError, match=r"^`base` must be an integer, not float$"):
        karatsuba(unit, 5, 3, base=4.0)  # type: ignore[arg-type]
    narrow = unit_of(4, integer(8))
    long = 1 << 500
    message = (
        r"^words of int8 must hold sums of 251 pieces of 2 bits, but hold those of 16: choose "
        "narrower pieces$"
    )
    with pytest.raises(ValueError, match=message):
        schoolbook(narrow, long, long, 2)
    assert unit.cost == narrow.cost == Cost()
