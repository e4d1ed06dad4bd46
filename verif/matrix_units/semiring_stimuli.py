"""Operands of the semiring matrix unit: floats of every kind, integers, padding, 2:4 positions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat, Format, IntFormat
from tilewright.hw.spec.semirings import SEMIRINGS, Semiring
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.numbers.values import decode, encode
from tilewright.verif.oracles import stimuli

Words = npt.NDArray[np.uint64]
Generator = np.random.Generator

FLOAT_KINDS = (
    "uniform", "moderate", "log_uniform", "subnormal", "sparse", "bits", "mixed", "special",
    "cancellation", "padding",
)  # fmt: skip
INT_KINDS = ("bits", "small", "extremes", "mixed", "padding")

_PLAIN = {"mixed": "moderate", "cancellation": "moderate", "padding": "uniform"}
"""Base distribution of each derived kind of operands."""


def kinds_of(config: Simd2Config) -> tuple[str, ...]:
    """The kinds of operands that the unit's format has."""
    return FLOAT_KINDS if config.is_float else INT_KINDS


def semiring_tiles(
    config: Simd2Config, name: str, kind: str, count: int, rng: Generator
) -> tuple[Words, Words, Words, Words]:
    """a, b, c and the positions of a's elements (which only a sparse unit takes)."""
    tile = config.tile
    element, result = config.element, config.result
    a = _values(rng, kind, (count, tile, tile), element)
    b = _values(rng, kind, (count, config.b_depth, tile), element)
    c = _accumulators(rng, kind, (count, tile, tile), element, result)
    places = positions(config, count, rng)
    row = SEMIRINGS[name]
    if kind == "mixed":
        a, b, c = (
            np.where(rng.random(x.shape) < 0.06, _specials(rng, x.shape, fmt), x)
            for x, fmt in ((a, element), (b, element), (c, result))
        )
    if kind == "padding":
        a, b, c = _padded(rng, row, (a, b, c), element, result)
    if kind == "cancellation" and isinstance(element, FloatFormat):
        a, b = _cancelling(config, rng, row, a, b, places)
        quiet = rng.random(c.shape) < 0.5
        c = np.where(quiet, c & np.uint64(1 << (result.bits - 1)), c)
    return a, b, c, places


def addend_values(config: Simd2Config, count: int, rng: Generator) -> Words:
    """About ``count`` accumulators, as many of each kind."""
    kinds = kinds_of(config)
    shape = (-(-count // len(kinds)),)
    drawn = [_accumulators(rng, kind, shape, config.element, config.result) for kind in kinds]
    return np.concatenate(drawn)


def positions(config: Simd2Config, count: int, rng: Generator) -> Words:
    """Draws positions of the elements of a. Half of the operations have them as software writes
    them, two different places of a group in order; the other half have any. Zeros without sparsity.
    """
    shape = (count, config.tile, config.tile)
    if config.sparsity == "none":
        return np.zeros(shape, np.uint64)
    places = rng.integers(0, 4, shape, dtype=np.uint64)
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], np.uint64)
    proper = rng.choice(pairs, (count, config.tile, config.tile // 2)).reshape(shape)
    return np.where(rng.random((count, 1, 1)) < 0.5, proper, places)


def integer_values(rng: Generator, kind: str, shape: tuple[int, ...], fmt: IntFormat) -> Words:
    """Random integers: any bits, small ones, or the ends of the range and powers of two."""
    if kind == "bits":
        return rng.integers(0, (1 << fmt.bits) - 1, shape, dtype=np.uint64, endpoint=True)
    if kind == "small":
        return encode(rng.integers(-9, 10, shape), fmt)
    return _specials(rng, shape, fmt)


def _values(rng: Generator, kind: str, shape: tuple[int, ...], fmt: Format) -> Words:
    if isinstance(fmt, IntFormat):
        return integer_values(
            rng, {"mixed": "small", "padding": "bits"}.get(kind, kind), shape, fmt
        )
    return stimuli.values(rng, _PLAIN.get(kind, kind), shape, fmt)


def _specials(rng: Generator, shape: tuple[int, ...], fmt: Format) -> Words:
    if isinstance(fmt, FloatFormat):
        # Half of them the few that decide a result by themselves.
        positive = [0, 1, fmt.one, fmt.largest, fmt.infinity, fmt.nan, (1 << (fmt.bits - 1)) - 1]
        deciding = np.array(positive, np.uint64)
        both = np.concatenate([deciding, deciding | np.uint64(1 << (fmt.bits - 1))])
        rest = rng.choice(stimuli.special_values(fmt), shape)
        return np.where(rng.random(shape) < 0.5, rng.choice(both, shape), rest)
    ends = [fmt.lowest, fmt.lowest + 1, -1, 0, 1, fmt.highest - 1, fmt.highest]
    powers = [sign << place for place in range(1, fmt.bits - 1) for sign in (-1, 1)]
    chosen = rng.choice(np.array(ends + powers, np.int64), shape)
    return encode(np.where(rng.random(shape) < 0.5, rng.choice(ends, shape), chosen), fmt)


def _accumulators(
    rng: Generator, kind: str, shape: tuple[int, ...], element: Format, result: Format
) -> Words:
    """Half over the accumulator's own range, half in the operands' range, where neither drowns."""
    own = _values(rng, kind, shape, result)
    like = encode(decode(_values(rng, kind, shape, element), element), result)
    return np.where(rng.random(shape) < 0.5, own, like)


def _padded(
    rng: Generator,
    row: Semiring,
    tiles: tuple[Words, Words, Words],
    element: Format,
    result: Format,
) -> tuple[Words, Words, Words]:
    """Padding here and there (the largest value for want of infinity), the identity as addend."""
    padding, identity = row.padding_in(element), row.identity_in(result)
    a, b, c = tiles
    if padding is None:
        assert isinstance(element, FloatFormat)
        padding = element.largest, element.largest
    a = np.where(rng.random(a.shape) < 0.4, np.uint64(padding[0]), a)
    b = np.where(rng.random(b.shape) < 0.4, np.uint64(padding[1]), b)
    if identity is not None:
        c = np.where(rng.random(c.shape) < 0.4, np.uint64(identity), c)
    return a, b, c


def _cancelling(
    config: Simd2Config, rng: Generator, row: Semiring, a: Words, b: Words, places: Words
) -> tuple[Words, Words]:
    """Products that cancel in pairs, or a and b that differ in the last places only."""
    sign = np.uint64(1 << (config.element.bits - 1))
    if row.times == "mul":
        half, below = a.shape[2] // 2, b.shape[1] // 2
        a[:, :, half : 2 * half] = a[:, :, :half]
        places[:, :, half : 2 * half] = places[:, :, :half]
        jitter = rng.integers(0, 2, b[:, :below].shape, dtype=np.uint64)
        b[:, below : 2 * below] = b[:, :below] ^ sign ^ jitter
        return a, b
    b = np.repeat(b[:, :, :1], b.shape[2], axis=2) ^ rng.integers(0, 4, b.shape, dtype=np.uint64)
    operation, column, lane = np.indices(a.shape)
    sparse = config.sparsity == "2:4"
    depth = 4 * (lane // 2) + places.astype(np.int64) if sparse else lane
    a = b[operation, depth, column] ^ rng.integers(0, 4, a.shape, dtype=np.uint64)
    return (a ^ sign if row.times == "add" else a), b
