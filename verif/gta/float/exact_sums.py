"""Sums of products of floats by arithmetic that we did not write."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS, FORMATS, FloatFormat
from tilewright.sim.numbers.multiply_add import multiply_add
from tilewright.verif.oracles import softfloat, stimuli
from tilewright.verif.oracles.softfloat import decode, round_exact


def representatives(fmt: FloatFormat) -> npt.NDArray[np.uint64]:
    """One of each class of values and at the ends of each, of both signs."""
    one = fmt.bias << fmt.fraction_bits
    subnormal = [1, fmt.fraction_mask]
    normal = [fmt.fraction_mask + 1, one, one + 1, fmt.largest]
    found = np.array([0, *subnormal, *normal, fmt.infinity, fmt.infinity + 1, fmt.nan], np.uint64)
    return np.concatenate([found, found | np.uint64(1 << (fmt.bits - 1))])


def random_floats(
    rng: np.random.Generator, name: str, shape: tuple[int, int]
) -> npt.NDArray[np.uint64]:
    """Draws numbers whose sums lose bits, and a share of numbers of any kind."""
    fmt = FLOAT_FORMATS[name]
    found = stimuli.values(rng, "moderate", shape, fmt)
    kind = str(rng.choice(stimuli.VALUE_KINDS))
    return np.where(rng.random(shape) < 0.1, stimuli.values(rng, kind, shape, fmt), found)


Patterns = npt.NDArray[np.uint64]

_TYPES: dict[str, npt.DTypeLike] = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16}


def widened(patterns: Patterns, fmt: FloatFormat) -> Patterns:
    """fp16 and bf16 as fp32, exactly; other formats as they are. NaNs stay NaNs."""
    if fmt.name not in _TYPES:
        return patterns
    with np.errstate(invalid="ignore"):
        values = patterns.astype(np.uint16).view(_TYPES[fmt.name]).astype(np.float32)
    return values.view(np.uint32).astype(np.uint64)


def accumulated(
    x: Patterns, y: Patterns, total: Patterns, fmt: FloatFormat, result: FloatFormat | None = None
) -> Patterns:
    """``x * y + total`` rounded once, by SoftFloat; operands of ``fmt``, sums of ``result``, fp32
    or fp64 if it is None.

    bf16 sums, which SoftFloat has not, are those of the project's own golden models.
    """
    result = result or _sums_of(fmt)
    if result.name == "bf16":
        return multiply_add(x, y, total, result)
    if result == fmt:
        return softfloat.multiply_add(x, y, total, result)
    return softfloat.multiply_add(widened(x, fmt), widened(y, fmt), total, result)


def exactly(
    x: int, y: int, total: int, fmt: FloatFormat, result: FloatFormat | None = None
) -> int | None:
    """The same of finite numbers by exact fractions; None where a value is not finite, or the
    exact sum is zero."""
    result = result or _sums_of(fmt)
    a, b, c = decode(x, fmt), decode(y, fmt), decode(total, result)
    if {a.kind, b.kind, c.kind} != {"finite"}:
        return None
    values = (Fraction(v.integer) * Fraction(2) ** v.exponent for v in (a, b, c))
    first, second, third = values
    exact = first * second + third
    if not exact:
        return None
    shift = exact.denominator.bit_length() - 1
    return round_exact(exact.numerator, -shift, result)


def _sums_of(fmt: FloatFormat) -> FloatFormat:
    return FLOAT_FORMATS["fp64" if fmt.name == "fp64" else "fp32"]


def chain(a: Patterns, b: Patterns, c: Patterns | None, name: str) -> Patterns:
    """``a b + c``: each sum begins with c or +0 and takes product after product, rounded each."""
    fmt = FORMATS[name]
    assert isinstance(fmt, FloatFormat)
    shape = (a.shape[0], b.shape[1])
    total = np.zeros(shape, np.uint64) if c is None else c
    for k in range(a.shape[1]):
        x, y = (part.ravel() for part in np.broadcast_arrays(a[:, k, None], b[None, k]))
        total = accumulated(x, y, total.ravel(), fmt).reshape(shape)
    return total
