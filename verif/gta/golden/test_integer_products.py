"""Products of matrices of integers, against Python's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS, FORMATS, INT_FORMATS
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig, is_float, limbs, result_bytes
from tilewright.sim.gta.golden.pgemm import pgemm
from tilewright.sim.gta.limbs import limbs_of
from tilewright.verif.gta.golden.references import element_serial, product_by_limbs
from tilewright.verif.kit.sampling import by_size, cases
from tilewright.verif.oracles import stimuli
from tilewright.verif.oracles.softfloat import decode

from .references import FLOATS, clamped, integer_matrices, signed, words, wrapped

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


# Products of limbs, put together as the array does it: equal to the golden model, up to the limit
# that its accumulators have.

INTEGERS_LIMBS = tuple(name for name in FORMATS_OF_GTA if not is_float(name))
LARGEST = 255 * 255
"""Product of two limbs: both unsigned."""


def patterns(format: str, count: int, seed: int) -> Array:
    """Draws patterns, among them those with the lowest and highest limbs."""
    rng = np.random.default_rng(seed)
    if is_float(format):
        fmt = FLOAT_FORMATS[format]
        some = stimuli.values(rng, "bits", (count,), fmt)
        return np.concatenate([stimuli.special_values(fmt), some])
    bits = INT_FORMATS[format].bits
    half = 1 << (bits - 1)
    ends = np.array([0, 1, half - 1, half, half + 1, 2 * half - 1], np.uint64)
    some = rng.integers(0, 2 * half - 1, count, dtype=np.uint64, endpoint=True)
    return np.concatenate([ends, some])


def whole(format: str, words: Array) -> list[int]:
    """The integers, or the significands of floats: below infinity those of their values."""
    if not is_float(format):
        return signed(words, INT_FORMATS[format].bits).tolist()
    fmt = FLOAT_FORMATS[format]
    finite = np.where((words & np.uint64(fmt.infinity)) == fmt.infinity, np.uint64(0), words)
    return [abs(decode(word, fmt).integer) for word in finite.tolist()]


def finite(format: str, words: Array) -> Array:
    """Selects the words that are neither an infinity nor a NaN."""
    if not is_float(format):
        return words
    infinity = np.uint64(FLOAT_FORMATS[format].infinity)
    return words[(words & infinity) != infinity]


@pytest.mark.parametrize("format", FORMATS_OF_GTA)
def test_limbs_are_the_number(format: str) -> None:
    words = finite(format, patterns(format, cases(2000), 101))
    found = limbs_of(format, words)
    count = limbs(format)
    assert found.shape == (len(words), count)
    assert found[:, :-1].size == 0 or (found[:, :-1].min(), found[:, :-1].max()) == (0, 255)
    top = (0, 255) if is_float(format) else (-128, 127)
    assert top[0] <= found[:, -1].min() < found[:, -1].max() <= top[1]
    weights = np.array([1 << (8 * i) for i in range(count)], object)
    assert (found.astype(object) * weights).sum(axis=1).tolist() == whole(format, words)


@pytest.mark.parametrize("format", FORMATS_OF_GTA)
def test_an_element_multiplies_by_diagonals(format: str) -> None:
    """Sums of 20 bits, the narrowest allowed, hold every diagonal."""
    some = finite(format, patterns(format, cases(4000), 102))
    a = np.concatenate([some, np.repeat(some[:20], 20)])
    b = np.concatenate([np.random.default_rng(103).permutation(some), np.tile(some[:20], 20)])
    exact = [x * y for x, y in zip(whole(format, a), whole(format, b), strict=True)]
    assert element_serial(format, a, b, partial_bits=20).tolist() == exact


@pytest.mark.parametrize("format", ["int64", "fp64"])
def test_largest_diagonals_take_19_bits_and_a_sign(format: str) -> None:
    """Seven or eight products of 255 by 255, and what is carried to them."""
    ones = (1 << 63) - 1 if format == "int64" else (1 << 52) - 1 | 1 << 52
    exact = (ones if format == "int64" else (1 << 53) - 1) ** 2
    assert element_serial(format, [ones], [ones], partial_bits=20).tolist() == [exact]
    assert element_serial(format, [ones], [ones], partial_bits=19).tolist() != [exact]


@pytest.mark.parametrize("format", INTEGERS_LIMBS)
@pytest.mark.parametrize(
    ("depth", "partial_bits"), [(1, 20), (4, 20), (8, 20), (1000, 40)],
    ids=["one", "segment", "column", "whole"],
)  # fmt: skip
def test_limb_products_make_the_product(format: str, depth: int, partial_bits: int) -> None:
    """Multiplies as in OS and WS: with segments and columns of any length that the sums hold."""
    bits = 8 * result_bytes(format)
    for a, b in integer_matrices(INT_FORMATS[format].bits, cases(40_000), 104):
        found = product_by_limbs(
            format, a, b, depth=depth, partial_bits=partial_bits, result_bits=bits
        )
        assert np.array_equal(found.astype(np.uint64), pgemm(format, a, b))


@pytest.mark.parametrize("format", ["int32", "int64"])
def test_long_results(format: str) -> None:
    for a, b in integer_matrices(INT_FORMATS[format].bits, cases(20_000), 105):
        found = product_by_limbs(format, a, b, depth=4, partial_bits=20, result_bits=128)
        words = pgemm(format, a, b, result="long").astype(object)
        assert np.array_equal(found, words[..., 0] + (words[..., 1] << 64))


def of_one_number(format: str, a: int, b: int, depth: int, partial_bits: int) -> bool:
    """Returns whether ``depth`` products of two numbers add up to the right sum, modulo 2**128."""
    bits = INT_FORMATS[format].bits
    left, right = (np.full(depth, number % (1 << bits), np.uint64) for number in (a, b))
    found = product_by_limbs(
        format, left[np.newaxis], right[:, np.newaxis], depth=depth, partial_bits=partial_bits,
        result_bits=128,
    )  # fmt: skip
    return found.tolist() == [[depth * a * b % (1 << 128)]]


@pytest.mark.parametrize("format", INTEGERS_LIMBS)
@pytest.mark.parametrize("partial_bits", [20, 21, 26])
def test_the_limit_of_a_segment_fits(format: str, partial_bits: int) -> None:
    """Sums of the largest and of the lowest limbs fit at the limit and at twice the limit."""
    fmt = INT_FORMATS[format]
    most = GtaConfig(partial_bits=partial_bits).most_products
    for depth in (most, 2 * most):
        for a in (fmt.lowest, -1, fmt.highest):
            for b in (fmt.lowest, -1, fmt.highest):
                assert of_one_number(format, a, b, depth, partial_bits)


def test_the_default_is_what_banks_need() -> None:
    """By default the longest sum is that of a whole bank of int8; so it is of other banks with the
    bits that the parameter's description says."""
    config = GtaConfig()
    assert config.most_products == config.edge_bytes
    for vector_bytes in (2048, 131072):
        bits = vector_bytes.bit_length() - 1 + 13
        config = GtaConfig(vector_bytes=vector_bytes, partial_bits=bits)
        assert config.most_products == config.edge_bytes


@pytest.mark.parametrize("format", [name for name in INTEGERS_LIMBS if name != "int8"])
@pytest.mark.parametrize("partial_bits", [20, 21, 26])
def test_the_limit_is_real(format: str, partial_bits: int) -> None:
    """The first depth that overflows is the one that counting limbs gives."""
    highest = INT_FORMATS[format].highest
    first = ((1 << (partial_bits - 1)) - 1) // LARGEST + 1
    assert 2 * GtaConfig(partial_bits=partial_bits).most_products < first
    assert of_one_number(format, highest, highest, first - 1, partial_bits)
    assert not of_one_number(format, highest, highest, first, partial_bits)


def test_sums_of_int8_are_a_quarter() -> None:
    """Products of int8 overflow at a quarter of the depth, because their only limb is signed."""
    assert of_one_number("int8", -128, -128, 31, 20)
    assert not of_one_number("int8", -128, -128, 32, 20)


@pytest.mark.parametrize(("format", "depth"), [("int8", 3 << 16), ("int16", 3 << 14)])
def test_sums_as_long_as_results_may_wrap(format: str, depth: int) -> None:
    """Sums of the lowest limbs lie between 2**31 and 2**32. With 32 bits of partial sums the lost
    bits lie beyond the result; with 31 they are part of it."""
    highest = INT_FORMATS[format].highest
    word = np.full((1, depth), highest, np.uint64)
    right = depth * highest**2 % (1 << 32)
    for partial_bits, fits in ((32, True), (31, False)):
        found = product_by_limbs(
            format, word, word.T, depth=depth, partial_bits=partial_bits, result_bits=32
        )
        assert (found.tolist() == [[right]]) == fits


@pytest.mark.parametrize("format", FLOATS)
def test_significands_have_no_sign(format: str) -> None:
    fmt = FLOAT_FORMATS[format]
    one = limbs_of(format, [fmt.one, fmt.one | 1 << (fmt.bits - 1), 1])
    assert one[0].tolist() == one[1].tolist()
    assert one[2].tolist() == [1] + [0] * (limbs(format) - 1)
