"""Matrices of floats to multiply, and chains of fused multiply-adds by Berkeley SoftFloat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.verif.oracles import softfloat, stimuli
from tilewright.verif.oracles.accuracy import as_fp32

Array = npt.NDArray[Any]

FLOATS = ("bf16", "fp16", "fp32", "fp64")

_LONGEST = 64
_DEEPEST = 6


def result_format(format: str) -> FloatFormat:
    """Returns the format in which products of a format are summed."""
    return FLOAT_FORMATS["fp64" if format == "fp64" else "fp32"]


def factors(a: Array, b: Array) -> tuple[Array, Array]:
    """The factors of each element of a product, (M * N, K)."""
    rows, depth, cols = *a.shape, b.shape[1]
    left = np.broadcast_to(a[:, np.newaxis], (rows, cols, depth)).reshape(-1, depth)
    return left, np.broadcast_to(b.T, (rows, cols, depth)).reshape(-1, depth)


def softfloat_product(format: str, a: Array, b: Array, c: Array) -> Array:
    """``C + A B`` in ascending k, the operands widened to the sum's format."""
    fmt = result_format(format)
    if format != fmt.name:
        a, b = as_fp32(a, FLOAT_FORMATS[format]), as_fp32(b, FLOAT_FORMATS[format])
    left, right = factors(a, b)
    total = c.ravel()
    for k in range(a.shape[1]):
        total = softfloat.multiply_add(left[:, k], right[:, k], total, fmt)
    return total.reshape(c.shape)


def float_matrices(format: str, count: int, seed: int) -> Iterator[tuple[Array, Array, Array]]:
    """Patterns of A, B and C of products with ``count`` elements in all.

    Kinds of values in turn, now and then a special one among them; of every other product C is a
    few last places away from cancelling A B, or one of its partial sums.
    """
    rng = np.random.default_rng(seed)
    operand, fmt = FLOAT_FORMATS[format], result_format(format)
    done, turn = 0, 0
    while done < count:
        kind = stimuli.VALUE_KINDS[turn // 2 % len(stimuli.VALUE_KINDS)]
        rows, cols = (int(rng.integers(1, _LONGEST)) for _ in range(2))
        depth = int(rng.integers(1, _DEEPEST))
        a = _mixed(rng, stimuli.values(rng, kind, (rows, depth), operand), operand)
        b = _mixed(rng, stimuli.values(rng, kind, (depth, cols), operand), operand)
        if turn % 2:
            c = _opposite(rng, a, b, operand, fmt)
        else:
            c = stimuli.values(rng, kind, (rows, cols), fmt)
        yield a, b, c
        done, turn = done + rows * cols, turn + 1


def _mixed(rng: np.random.Generator, values: Array, fmt: FloatFormat) -> Array:
    """Special values in one place of thirty."""
    special = rng.choice(stimuli.special_values(fmt), values.shape)
    return np.where(rng.random(values.shape) < 1 / 30, special, values)


def _opposite(
    rng: np.random.Generator, a: Array, b: Array, operand: FloatFormat, fmt: FloatFormat
) -> Array:
    """Patterns close to minus the sum of some of the first products."""
    depth = int(rng.integers(1, a.shape[1] + 1))
    with np.errstate(all="ignore"):
        x, y = _float64(a[:, :depth], operand), _float64(b[:depth], operand)
        total = -(x[:, :, np.newaxis] * y).sum(axis=1)
        narrow: Any = total if fmt.name == "fp64" else total.astype(np.float32)
    word = narrow.view(f"u{fmt.bits // 8}").astype(np.uint64)
    return word ^ rng.integers(0, 4, word.shape, dtype=np.uint64)


def _float64(patterns: Array, fmt: FloatFormat) -> Array:
    if fmt.name == "fp64":
        return patterns.view(np.float64)
    return as_fp32(patterns, fmt).astype(np.uint32).view(np.float32).astype(np.float64)
