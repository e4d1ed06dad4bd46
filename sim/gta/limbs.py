"""Long products as products of limbs: how the array comes to what the golden model says.

Neither cycles nor places: which limbs an element multiplies, how wide its sums are, and in what
order the accumulators put them together. Source: GTA, section 3.1 and its Figure 1; floats by
diagonals are the project's own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FORMATS, IntFormat
from ...hw.spec.gta import LIMB_BITS, limbs
from ..numbers.values import decode

Ints = npt.NDArray[np.int64]
Exact = npt.NDArray[np.object_]
"""Python's integers."""

_MASK = (1 << LIMB_BITS) - 1


def limbs_of(format: str, patterns: npt.ArrayLike) -> Ints:
    """Limbs of 8 bits, lowest first, on a further axis: of an integer, the top one signed, the
    others not; of a float's significand with its hidden bit, none signed."""
    count, fmt = limbs(format), FORMATS[format]
    words = np.asarray(patterns).astype(np.uint64)
    if isinstance(fmt, IntFormat):
        rest: Ints = decode(words, fmt)
    else:
        fraction = (words & np.uint64(fmt.fraction_mask)).view(np.int64)
        field = (words >> np.uint64(fmt.fraction_bits)).view(np.int64) & fmt.exponent_mask
        rest = fraction | ((field != 0).astype(np.int64) << fmt.fraction_bits)
    found = [(rest >> (LIMB_BITS * i)) & _MASK for i in range(count - 1)]
    top = rest >> (LIMB_BITS * (count - 1))
    return np.stack([*found, top], axis=-1)


def partial_sums(format: str, a: npt.ArrayLike, b: npt.ArrayLike, partial_bits: int) -> Ints:
    """Sums of products of limbs, (M, L, N, L), as an accumulator of so many bits has them.

    Parameters
    ----------
    a, b: patterns of the format, (M, K) and (K, N)
    """
    x, y = limbs_of(format, a), limbs_of(format, b)
    rows, depth, count = x.shape
    left = x.transpose(0, 2, 1).reshape(rows * count, depth)
    sums = left @ y.reshape(depth, -1)
    return _held(sums, partial_bits).reshape(rows, count, -1, count)


def _held(sums: Ints, bits: int) -> Ints:
    """Returns sums as an accumulator holds them: two's complement, modulo ``2**bits``."""
    spare = 64 - bits
    return (sums << spare) >> spare
