"""Products of long integers, against Python's."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.sim.gta.bignum import (
    DEPTH,
    PIECE_BITS,
    bignum_factors,
    bignum_product,
    bignum_shape,
)
from tilewright.sim.gta.golden.pgemm import pgemm
from tilewright.verif.gta.golden.limb_products import product_by_limbs
from tilewright.verif.kit.sampling import cases, slow_but

Array = npt.NDArray[Any]

COLUMN_BITS = PIECE_BITS * DEPTH

on_golden = partial(pgemm, "int64")


def by_limbs(a: Array, b: Array) -> Array:
    """Multiplies by limbs as the array does, with the narrowest possible sums."""
    exact = product_by_limbs("int64", a, b, depth=8, partial_bits=20, result_bits=64)
    return exact.astype(np.uint64)


def test_random_lengths() -> None:
    rng = random.Random(111)
    for _ in range(cases(200)):
        x, y = (rng.getrandbits(rng.randrange(1, 9000)) for _ in range(2))
        assert bignum_product(x, y, on_golden) == x * y


@pytest.mark.parametrize("bits", [1, 27, 28, 29, COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1])
def test_all_ones_and_powers_of_two(bits: int) -> None:
    """The largest sums and the longest carries, around the ends of pieces and columns."""
    for x in ((1 << bits) - 1, 1 << bits, 0, 1):
        for y in ((1 << bits) - 1, (1 << 3 * bits) - 1, 1 << bits, 0):
            assert bignum_product(x, y, on_golden) == x * y


def test_signs() -> None:
    for x, y in ((-5, 7), (5, -7), (-(1 << 100), -(1 << 3000)), (0, -1)):
        assert bignum_product(x, y, on_golden) == x * y


def test_by_limbs() -> None:
    rng = random.Random(112)
    x, y = rng.getrandbits(2500), (1 << 3000) - 1
    assert bignum_product(x, y, by_limbs) == x * y


def test_no_sum_passes_int64() -> None:
    """Multiplies pieces that are all ones; the sum is exact, not modulo 2**64."""
    ones = (1 << COLUMN_BITS) - 1
    a, b = bignum_factors(ones, ones)
    sums = np.dot(a.astype(object), b.astype(object))
    assert sums.max() == DEPTH * ((1 << PIECE_BITS) - 1) ** 2 < 1 << 62
    assert np.array_equal(on_golden(a, b), sums.astype(np.uint64))


def test_shape_of_the_workload() -> None:
    """Checks the shape for 65,536 bits, and that the matrices have the shape that is announced."""
    assert bignum_shape(65536, 65536) == (2431, 37, 64)
    for x_bits, y_bits in ((0, 0), (1, 4000), (COLUMN_BITS, COLUMN_BITS + 1)):
        rows, columns, depth = bignum_shape(x_bits, y_bits)
        a, b = bignum_factors((1 << x_bits) - 1, (1 << y_bits) - 1)
        assert (a.shape, b.shape) == ((rows, depth), (depth, columns))


@pytest.mark.parametrize("bits", slow_but([1 << 14], [1 << 14, 1 << 16, 1 << 20], [1 << 16]))
def test_long_numbers(bits: int) -> None:
    """More rows than are computed at a time; the longest that are promised."""
    rng = random.Random(113)
    x, y = rng.getrandbits(bits), rng.getrandbits(bits) | 1 << (bits - 1)
    assert bignum_product(x, y, on_golden) == x * y


def test_rows_at_a_time() -> None:
    """Each is multiplied once."""
    rows = []

    def counted(a: Array, b: Array) -> Array:
        rows.append(len(a))
        return on_golden(a, b)

    x, y = (1 << 150_000) - 1, (1 << 1000) - 3
    assert bignum_product(x, y, counted) == x * y
    assert len(rows) > 1
    assert sum(rows) == bignum_shape(150_000, 1000)[0]


def test_factors_are_not_negative() -> None:
    with pytest.raises(ValueError, match=r"^numbers must be at least 0, not -3$"):
        bignum_factors(5, -3)
