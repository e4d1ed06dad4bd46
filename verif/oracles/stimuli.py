"""Seeded operands: special values, random values over whole formats, cancellation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat

Patterns = npt.NDArray[np.uint64]
Generator = np.random.Generator


def special_values(fmt: FloatFormat) -> Patterns:
    """Both signs of zero, the ends of the subnormal and normal ranges, infinity, NaN, and one
    unit in the last place around powers of two across the range."""
    hidden = 1 << fmt.fraction_bits
    fields = {1, 2, 3, fmt.exponent_mask - 1, fmt.exponent_mask - 2}
    for step in (-fmt.significand_bits, -1, 0, 1, fmt.significand_bits):
        fields.add(fmt.bias + step)
    for quarter in (1, 3):
        fields.add(fmt.exponent_mask * quarter // 4)
    positive = {0, 1, 2, hidden - 1, hidden, fmt.largest, fmt.infinity, fmt.nan, fmt.infinity + 1}
    for exponent in fields:
        if 1 <= exponent < fmt.exponent_mask:
            positive |= {exponent * hidden - 1, exponent * hidden, exponent * hidden + 1}
    top = 1 << (fmt.bits - 1)
    kept = sorted(pattern for pattern in positive if pattern < top)
    return np.array(kept + [pattern | top for pattern in kept], np.uint64)


def special_pairs(fmt: FloatFormat) -> tuple[Patterns, Patterns]:
    """Every ordered pair of special values."""
    specials = special_values(fmt)
    left, right = np.meshgrid(specials, specials, indexing="ij")
    return left.ravel(), right.ravel()


def near_values(rng: Generator, patterns: Patterns, fmt: FloatFormat, spread: int) -> Patterns:
    """Patterns whose exponent field lies within ``spread`` of the given ones'; any fraction."""
    shape = patterns.shape
    field = (patterns >> np.uint64(fmt.fraction_bits)).astype(np.int64) & fmt.exponent_mask
    moved = field + rng.integers(-spread, spread + 1, shape)
    return _assemble(rng, np.clip(moved, 0, fmt.exponent_mask - 1), fmt)


def values(rng: Generator, kind: str, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    """Random patterns of one of ``VALUE_KINDS``."""
    return _VALUES[kind](rng, shape, fmt)


def dot_products(
    rng: Generator, kind: str, count: int, n: int, operand: FloatFormat, result: FloatFormat
) -> tuple[Patterns, Patterns, Patterns]:
    """Operands (count, n), (count, n) and addends (count,) of one of ``DOT_PRODUCT_KINDS``."""
    return _DOT_PRODUCTS[kind](rng, count, n, operand, result)


def _fractions(rng: Generator, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    return rng.integers(0, 1 << fmt.fraction_bits, shape, dtype=np.uint64)


def _signs(rng: Generator, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    return rng.integers(0, 2, shape, dtype=np.uint64) << np.uint64(fmt.bits - 1)


def _assemble(rng: Generator, field: npt.NDArray[np.int64], fmt: FloatFormat) -> Patterns:
    body = field.astype(np.uint64) << np.uint64(fmt.fraction_bits)
    return body | _fractions(rng, field.shape, fmt) | _signs(rng, field.shape, fmt)


def _bits(rng: Generator, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    return rng.integers(0, (1 << fmt.bits) - 1, shape, dtype=np.uint64, endpoint=True)


def _log_uniform(rng: Generator, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    return _assemble(rng, rng.integers(0, fmt.exponent_mask, shape), fmt)


def _moderate(rng: Generator, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    half = fmt.bias // 2
    return _assemble(rng, rng.integers(fmt.bias - half, fmt.bias + half + 1, shape), fmt)


def _uniform(rng: Generator, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    """Values uniform in [-1, 1): the exponent field is one below for each leading zero."""
    drop = rng.geometric(0.5, shape)
    return _assemble(rng, np.maximum(fmt.bias - drop, 0), fmt)


def _subnormal(rng: Generator, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    return _assemble(rng, rng.integers(0, 3, shape) // 2, fmt)


def _sparse(rng: Generator, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    """Few significand bits set, or few clear: ties and carries are frequent."""
    fraction = np.zeros(shape, np.uint64)
    for _ in range(2):
        place = rng.integers(0, fmt.fraction_bits, shape, dtype=np.uint64)
        fraction |= np.uint64(1) << place
    ones = np.uint64((1 << fmt.fraction_bits) - 1)
    fraction = np.where(rng.integers(0, 2, shape) == 1, fraction, fraction ^ ones)
    field = rng.integers(0, fmt.exponent_mask, shape).astype(np.uint64)
    return field << np.uint64(fmt.fraction_bits) | fraction | _signs(rng, shape, fmt)


def _special(rng: Generator, shape: tuple[int, ...], fmt: FloatFormat) -> Patterns:
    return rng.choice(special_values(fmt), shape)


_VALUES: dict[str, Callable[[Generator, tuple[int, ...], FloatFormat], Patterns]] = {
    "bits": _bits,
    "log_uniform": _log_uniform,
    "uniform": _uniform,
    "moderate": _moderate,
    "subnormal": _subnormal,
    "sparse": _sparse,
    "special": _special,
}
VALUE_KINDS = tuple(_VALUES)

Triple = tuple[Patterns, Patterns, Patterns]


def _plain(kind: str) -> Callable[[Generator, int, int, FloatFormat, FloatFormat], Triple]:
    def generate(
        rng: Generator, count: int, n: int, operand: FloatFormat, result: FloatFormat
    ) -> Triple:
        return (
            values(rng, kind, (count, n), operand),
            values(rng, kind, (count, n), operand),
            values(rng, kind, (count,), result),
        )

    return generate


def _mixed(rng: Generator, count: int, n: int, operand: FloatFormat, result: FloatFormat) -> Triple:
    """Mostly ordinary values, here and there a special one."""
    a, b, c = _plain("moderate")(rng, count, n, operand, result)
    chance = 1 / (2 * n + 1)
    a = np.where(rng.random(a.shape) < chance, _special(rng, a.shape, operand), a)
    b = np.where(rng.random(b.shape) < chance, _special(rng, b.shape, operand), b)
    c = np.where(rng.random(c.shape) < 0.2, _special(rng, c.shape, result), c)
    return a, b, c


def _cancelling(exact: bool, field_kind: str) -> Callable[..., Triple]:
    """Products in pairs of opposite sign; not exact: one factor of a pair is a few ulps off."""

    def generate(
        rng: Generator, count: int, n: int, operand: FloatFormat, result: FloatFormat
    ) -> Triple:
        a = values(rng, field_kind, (count, n), operand)
        b = values(rng, field_kind, (count, n), operand)
        pairs = n // 2
        sign = np.uint64(1 << (operand.bits - 1))
        a[:, pairs : 2 * pairs] = b[:, :pairs]
        b[:, pairs : 2 * pairs] = a[:, :pairs] ^ sign
        if not exact:
            # Pair after pair smaller, and each a last place or two away from cancelling.
            jitter = rng.integers(0, 4, (count, pairs), dtype=np.uint64)
            b[:, pairs : 2 * pairs] ^= jitter
        if n % 2:
            one = np.full(count, operand.bias << operand.fraction_bits, np.uint64)
            a[:, -1] = near_values(rng, one, operand, 8)
        c = values(rng, "log_uniform", (count,), result)
        quiet = rng.integers(0, 4, count) == 0
        c = np.where(quiet, c & np.uint64(1 << (result.bits - 1)), c)
        a, b = _shuffled(rng, a, b)
        return a, b, c

    return generate


def _shuffled(rng: Generator, a: Patterns, b: Patterns) -> tuple[Patterns, Patterns]:
    """The products of each row in a random order."""
    order = rng.permuted(np.tile(np.arange(a.shape[1]), (a.shape[0], 1)), axis=1)
    return np.take_along_axis(a, order, 1), np.take_along_axis(b, order, 1)


def _approximate(x: Patterns, fmt: FloatFormat) -> npt.NDArray[np.float64]:
    """Values of normal patterns, as far as float64 holds them."""
    field = ((x >> np.uint64(fmt.fraction_bits)).astype(np.int64) & fmt.exponent_mask) - fmt.bias
    fraction = 1 + (x & np.uint64(fmt.fraction_mask)).astype(np.float64) / 2.0**fmt.fraction_bits
    sign = 1 - 2.0 * (x >> np.uint64(fmt.bits - 1)).astype(np.float64)
    return np.ldexp(sign * fraction, field)


def _nearly(rng: Generator, value: npt.NDArray[np.float64], fmt: FloatFormat) -> Patterns:
    """Patterns within three units in the last place of a value in the normal range."""
    mantissa, exponent = np.frexp(np.abs(value))
    ulps = np.floor(mantissa * 2.0**fmt.significand_bits).astype(np.int64)
    ulps += rng.integers(-2, 3, value.shape)
    field = np.clip(exponent + fmt.bias - 2, 0, fmt.exponent_mask - 2)
    body = ((field << fmt.fraction_bits) + ulps).astype(np.uint64)
    return body | (value < 0).astype(np.uint64) << np.uint64(fmt.bits - 1)


def _accumulator_cancels(
    rng: Generator, count: int, n: int, operand: FloatFormat, result: FloatFormat
) -> Triple:
    """The addend all but cancels one product; the other products may be far smaller."""
    a, b, _ = _plain("moderate")(rng, count, n, operand, result)
    first = _approximate(a[:, 0], operand) * _approximate(b[:, 0], operand)
    c = _nearly(rng, -first, result)
    a, b = _shuffled(rng, a, b)
    return a, b, c


def _sum_cancels(
    rng: Generator, count: int, n: int, operand: FloatFormat, result: FloatFormat
) -> Triple:
    """The addend cancels 1 to 20 leading bits of the sum of the products."""
    a, b, _ = _plain("uniform")(rng, count, n, operand, result)
    total = (_approximate(a, operand) * _approximate(b, operand)).sum(axis=1)
    left_over = rng.uniform(0.5, 1, count) * 2.0 ** -rng.integers(1, 21, count)
    return a, b, _nearly(rng, total * (left_over - 1), result)


def _single(
    rng: Generator, count: int, n: int, operand: FloatFormat, result: FloatFormat
) -> Triple:
    """Draws operands with up to one product that is not zero, at a random place."""
    a, b, c = _plain("log_uniform")(rng, count, n, operand, result)
    if n > 1:
        alone = rng.integers(0, n, (count, 1)) != np.arange(n)
        a = np.where(alone, a & np.uint64(1 << (operand.bits - 1)), a)
    return a, b, c


_DOT_PRODUCTS: dict[str, Callable[..., Triple]] = {
    "uniform": _plain("uniform"),
    "log_uniform": _plain("log_uniform"),
    "moderate": _plain("moderate"),
    "subnormal": _plain("subnormal"),
    "bits": _plain("bits"),
    "sparse": _plain("sparse"),
    "special": _plain("special"),
    "mixed": _mixed,
    "cancellation": _cancelling(exact=False, field_kind="moderate"),
    "exact_cancellation": _cancelling(exact=True, field_kind="log_uniform"),
    "accumulator_cancels": _accumulator_cancels,
    "sum_cancels": _sum_cancels,
    "single_product": _single,
}
DOT_PRODUCT_KINDS = tuple(_DOT_PRODUCTS)
