"""Products of matrices of integers, against Python's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.gta import result_bytes
from tilewright.sim.gta.golden.pgemm import pgemm
from tilewright.verif.kit.sampling import by_size

from .exact_integers import clamped, integer_matrices, signed, words, wrapped

pytestmark = pytest.mark.quick

Array = npt.NDArray[Any]

INTEGERS = ("int8", "int16", "int32", "int64")
LONG = ("int32", "int64")
COUNT = by_size(20_000, 60_000, 1_000_000)


def expected(result: str, format: str) -> Callable[[Array], Array]:
    """Patterns of exact sums."""
    bits = 8 * result_bytes(format)
    keep = {"wrap": wrapped, "saturate": clamped}
    return words if result == "long" else lambda sums: keep[result](sums, bits)


def sums_to_add(format: str, shape: tuple[int, ...], result: str, seed: int) -> tuple[Array, Array]:
    """Patterns of C and the integers that they are: any, or the ends of the range."""
    rng = np.random.default_rng(seed)
    bits = 8 * result_bytes(format)
    length = (*shape, 2) if result == "long" else shape
    any_word = rng.integers(0, (1 << bits) - 1, length, dtype=np.uint64, endpoint=True)
    ends = rng.choice(np.array([0, 1, (1 << bits) - 1, 1 << (bits - 1)], np.uint64), length)
    c = np.where(rng.integers(0, 2, shape + (1,) * (len(length) - 2)) == 0, any_word, ends)
    if result != "long":
        return c, signed(c, bits)
    whole = c.astype(object)
    return c, signed(whole[..., 0] + (whole[..., 1] << 64), 128)


@pytest.mark.parametrize(
    ("format", "result"),
    [(name, result) for name in INTEGERS for result in ("wrap", "saturate")]
    + [(name, "long") for name in LONG],
)
def test_against_pythons_integers(format: str, result: str) -> None:
    bits = FORMATS[format].bits
    for turn, (a, b) in enumerate(integer_matrices(bits, COUNT, 41)):
        exact = np.dot(signed(a, bits), signed(b, bits))
        keep = expected(result, format)
        if turn % 2:
            assert np.array_equal(pgemm(format, a, b, result=result), keep(exact))
        else:
            c, addend = sums_to_add(format, exact.shape, result, turn)
            assert np.array_equal(pgemm(format, a, b, c, result=result), keep(exact + addend))


@pytest.mark.parametrize("format", INTEGERS)
@pytest.mark.parametrize("depth", [1, 2, 3, 700])
def test_most_negative_integers(format: str, depth: int) -> None:
    """Multiplies the largest magnitudes: a second product of int64 exceeds 128 bits."""
    bits, kept = FORMATS[format].bits, 8 * result_bytes(format)
    lowest = np.full((1, depth), 1 << (bits - 1), np.uint64)
    square = depth << (2 * bits - 2)
    assert pgemm(format, lowest, lowest.T).tolist() == [[square % (1 << kept)]]
    least = np.array([[1 << (kept - 1)]], np.uint64)
    limit = (1 << (kept - 1)) - 1
    found = pgemm(format, lowest, lowest.T, least, result="saturate")
    assert found.tolist() == [[min(square - limit - 1, limit) % (1 << kept)]]
    if format in LONG:
        low, high = pgemm(format, lowest, lowest.T, result="long")[0, 0].tolist()
        assert low + (high << 64) == square % (1 << 128)


def test_sums_saturate_once_at_the_end() -> None:
    """The running sum leaves the range at both ends, but the final sum lies inside it."""
    highest, lowest = (1 << 31) - 1, 1 << 31
    a = np.array([[highest, highest, highest, highest, 5]], np.uint64)
    b = np.array([[highest], [highest], [lowest + 1], [lowest + 1], [7]], np.uint64)
    c = np.array([[1 << 63]], np.uint64)
    assert pgemm("int32", a, b, result="saturate").tolist() == [[35]]
    assert pgemm("int32", a, b, c, result="saturate").tolist() == [[(1 << 63) + 35]]


@pytest.mark.parametrize(("format", "depth"), [("int8", (1 << 20) + 5), ("int64", (1 << 20) + 3)])
def test_a_depth_beyond_a_block(format: str, depth: int) -> None:
    """Sums more products than a block holds; for int64 the limb sums reach their maximum."""
    ones = np.full((1, depth), (1 << FORMATS[format].bits) - 1, np.uint64)
    largest = ones ^ np.uint64(1 << (FORMATS[format].bits - 1))
    bits = 8 * result_bytes(format)
    assert pgemm(format, ones, ones.T).tolist() == [[depth]]
    number = int(largest[0, 0])
    assert pgemm(format, largest, largest.T).tolist() == [[depth * number**2 % (1 << bits)]]


def test_segments_add_up() -> None:
    """Adds the sums of two segments, or starts the second from the sums of the first."""
    rng = np.random.default_rng(43)
    a, b = (rng.integers(0, 1 << 32, shape, dtype=np.uint64) for shape in ((7, 60), (60, 9)))
    whole = pgemm("int32", a, b)
    first, second = pgemm("int32", a[:, :37], b[:37]), pgemm("int32", a[:, 37:], b[37:])
    assert np.array_equal(first + second, whole)
    assert np.array_equal(pgemm("int32", a[:, 37:], b[37:], first), whole)


ONE = np.ones((1, 1), np.uint64)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("int4", ONE, ONE), {}, "`format` must be one of int8, int16, int32, int64, bf16, fp16, "
         "fp32, fp64, not 'int4'"),
        (("int8", ONE, ONE), {"result": "short"},
         "`result` must be one of wrap, saturate, long, not 'short'"),
        (("int8", ONE, ONE), {"result": "long"},
         "`result` of int8 must be wrap or saturate, not 'long'"),
        (("fp32", ONE, ONE), {"result": "saturate"},
         "`result` of fp32 must be wrap, not 'saturate'"),
        (("int8", 256 * ONE, ONE), {}, "words must be of 8 bits, not 256"),
        (("int8", ONE, np.ones((2, 1), np.uint64)), {},
         "`a` and `b` must be M x K and K x N, from 1, not (1, 1), (2, 1)"),
        (("int8", ONE[:0], ONE), {},
         "`a` and `b` must be M x K and K x N, from 1, not (0, 1), (1, 1)"),
        (("int8", ONE[0], ONE), {},
         "`a` and `b` must be M x K and K x N, from 1, not (1,), (1, 1)"),
        (("int8", ONE, ONE, ONE[0]), {}, "`c` must have shape (1, 1), not (1,)"),
        (("int64", ONE, ONE, ONE), {"result": "long"}, "`c` must have shape (1, 1, 2), not (1, 1)"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments: Any, options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pgemm(*arguments, **options)


def test_words_must_be_integers() -> None:
    with pytest.raises(TypeError, match=r"^words must be integers, not 0\.5$"):
        pgemm("int8", [[0.5]], ONE)
