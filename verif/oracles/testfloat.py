"""The operand sets of Berkeley TestFloat 3e, level 1, for any binary format.

TestFloat (John Hauser) tests a function of one, two or three operands with all combinations of a
grid of values, each beside combinations in which some operands are random instead. A value is an
exponent at which something changes (subnormals, the least and largest exponents, around 1, where
operands no longer overlap, NaN) with a fraction at an end of its range. A random value takes its
fraction from sums of such patterns or from all, its exponent from such a list or from a range
around 1 of random width.

The exponents and fractions are those that TestFloat lists for binary16, binary32 and binary64,
written as rules that hold for other formats, too (TestFloat's bfloat16 takes binary32's exponents
where these take those of 8 significand bits). 88 values on the grid make 46,464 pairs and 6,133,248
triples a format. Random values come from NumPy's generator.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat

Patterns = npt.NDArray[np.uint64]

# For each operand of a case whether it comes from the grid; the cases of each point of the grid.
_PAIR_CASES = ("..", "g.", "..", ".g", "..", "gg")
_TRIPLE_CASES = ("..g", "gg.", "...", ".gg", "g..", ".g.", "g.g", "...", "ggg")
_FRACTIONS = 4
_GRID = 22 * _FRACTIONS

PAIRS = len(_PAIR_CASES) * _GRID**2
TRIPLES = len(_TRIPLE_CASES) * _GRID**3


def _fields(exponents: list[int], fmt: FloatFormat) -> list[int]:
    """Exponent fields: 0 for subnormals, those of unbiased exponents within the format's range,
    all ones for infinities and NaN."""
    normal = [e + fmt.bias for e in exponents if fmt.emin <= e <= fmt.bias]
    return [0, *normal, fmt.exponent_mask]


def _exponents_in(fmt: FloatFormat, *, negative: bool) -> list[int]:
    """Exponent fields of the grid; those outside the range of a small format become its ends."""
    far = fmt.significand_bits
    # TestFloat's negative values with 8 bits of exponent stop one exponent earlier.
    largest = fmt.bias - (negative and fmt.exponent_bits == 8)
    wanted = [fmt.emin, -far, -2, -1, 0, 1, 2, far, largest]
    return _fields([max(fmt.emin, min(fmt.bias, e)) for e in wanted], fmt)


def _exponents_out(fmt: FloatFormat) -> list[int]:
    """Exponent fields of random values: the grid's, limits of integers and of other formats."""
    far = fmt.significand_bits
    near = [fmt.emin, fmt.emin + 1, -far, *range(-4, 5), far, fmt.bias - 1, fmt.bias]
    limits = [-129, -128, -127, -126, *range(29, 33), *range(61, 65), 127, 128, 129]
    return _fields(near + limits, fmt)


def _fractions(fmt: FloatFormat) -> list[int]:
    """One bit set, one clear, runs of ones from either end."""
    bits, ones = fmt.fraction_bits, fmt.fraction_mask
    found = {0, ones}
    found |= {1 << place for place in range(bits)} | {ones ^ 1 << place for place in range(bits)}
    found |= {ones >> place for place in range(bits)} | {ones ^ ones >> n for n in range(1, bits)}
    return sorted(found)


def _patterns(positive: list[int], negative: list[int], fmt: FloatFormat) -> Patterns:
    """Positive and negative values with these exponent fields and the grid's fractions, the
    fraction changing fastest."""
    fractions = [0, 1, fmt.fraction_mask, fmt.fraction_mask - 1]
    signed = [*positive, *(1 << fmt.exponent_bits | field for field in negative)]
    found = [field << fmt.fraction_bits | f for field, f in product(signed, fractions)]
    return np.array(found, np.uint64)


def grid(fmt: FloatFormat) -> Patterns:
    """The 88 values whose combinations are all tested."""
    positive = _exponents_in(fmt, negative=False)
    return _patterns(positive, _exponents_in(fmt, negative=True), fmt)


def _random(rng: np.random.Generator, count: int, fmt: FloatFormat) -> Patterns:
    """Random values; a quarter has any fraction, the others sums of patterned ones."""
    fractions = np.array(_fractions(fmt), np.uint64)
    patterned: Patterns = rng.choice(fractions, (2, count)).sum(axis=0, dtype=np.uint64)
    any_fraction = rng.integers(0, fmt.fraction_mask, count, dtype=np.uint64, endpoint=True)
    mask = np.uint64(fmt.fraction_mask)
    fraction = np.where(rng.integers(0, 4, count) == 0, any_fraction, patterned & mask)
    listed = rng.choice(np.array(_exponents_out(fmt), np.uint64), count)
    # A range around an exponent of 0: all fields, or the middle 2, 4, 8, ... of them.
    widths = np.array([fmt.exponent_bits, *range(fmt.exponent_bits, 2, -1)], np.uint64)
    width = rng.choice(widths, count)
    draw = rng.integers(0, fmt.exponent_mask, count, dtype=np.uint64, endpoint=True)
    span = np.uint64(1) << width
    middle = np.uint64(1 << (fmt.exponent_bits - 1)) - span // np.uint64(2)
    ranged = (draw & (span - np.uint64(1))) + middle
    field = np.where(rng.integers(0, 2, count) == 0, listed, ranged)
    sign: Patterns = rng.integers(0, 2, count, dtype=np.uint64) << np.uint64(fmt.bits - 1)
    exponent: Patterns = field << np.uint64(fmt.fraction_bits)
    return np.asarray(sign + exponent + fraction, np.uint64)


def _cases(
    points: npt.NDArray[Any],
    which: npt.NDArray[Any],
    cases: tuple[str, ...],
    fmt: FloatFormat,
    rng: np.random.Generator,
) -> tuple[Patterns, ...]:
    """Operands of the case ``which`` at each point, whose columns are numbers on the grid."""
    values = grid(fmt)
    operands = []
    for number in range(points.shape[1]):
        on_grid = np.array([case[number] == "g" for case in cases])[which]
        drawn = _random(rng, len(points), fmt)
        operands.append(np.where(on_grid, values[points[:, number]], drawn))
    return tuple(operands)


def singles(fmt: FloatFormat, seed: int) -> Patterns:
    """Operands of functions of one: each listed exponent with the grid's fractions, and two
    random values beside each."""
    fields = _exponents_out(fmt)
    listed = _patterns(fields, fields, fmt)
    return np.concatenate([listed, _random(np.random.default_rng(seed), 2 * len(listed), fmt)])


def pairs(fmt: FloatFormat, seed: int) -> tuple[Patterns, ...]:
    """Operands of functions of two, all ``PAIRS`` of them."""
    a, b, which = np.meshgrid(*map(np.arange, (_GRID, _GRID, len(_PAIR_CASES))), indexing="ij")
    points = np.stack([a.ravel(), b.ravel()], axis=1)
    return _cases(points, which.ravel(), _PAIR_CASES, fmt, np.random.default_rng(seed))


def triples(fmt: FloatFormat, seed: int, *, each: int | None = None) -> tuple[Patterns, ...]:
    """Operands of functions of three.

    Parameters
    ----------
    seed: of what is random
    each: triples of each combination of signs and exponents, 9 to 576; a sample with as many of
        each case as of any other, as far as that goes. Default: all ``TRIPLES``
    """
    rng = np.random.default_rng(seed)
    exponents = _GRID // _FRACTIONS
    cells = np.stack(
        [axis.ravel() for axis in np.meshgrid(*[np.arange(exponents)] * 3, indexing="ij")], axis=1
    )
    count, cases = _FRACTIONS**3 * len(_TRIPLE_CASES), len(_TRIPLE_CASES)
    if each is None:
        chosen = np.tile(np.arange(count), (len(cells), 1))
    else:
        if not cases <= each <= count:
            raise ValueError(f"`each` must be in {cases}..{count}, not {each}")
        # Case after case, each with fractions of its own; the first cases rotate over the cells.
        order = np.arange(each) + rng.integers(0, cases, (len(cells), 1))
        fractions = rng.permuted(np.tile(np.arange(_FRACTIONS**3), (len(cells), 1)), axis=1)
        turn = np.arange(each) // cases % _FRACTIONS**3
        chosen = fractions[:, turn] * cases + order % cases
    which, fraction = chosen % cases, chosen // cases
    places = np.stack([fraction // _FRACTIONS**2, fraction // _FRACTIONS, fraction], axis=2)
    points = cells[:, None, :] * _FRACTIONS + places % _FRACTIONS
    return _cases(points.reshape(-1, 3), which.ravel(), _TRIPLE_CASES, fmt, rng)
