"""Random words of a format."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat, Format

__all__ = ["random_words"]

Words = npt.NDArray[np.uint64]


def random_words(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...]) -> Words:
    """Container words: any patterns, or numbers whose sums do not overflow at once."""
    words = rng.integers(0, 1 << 64, shape, np.uint64) >> np.uint64(64 - fmt.container_bits)
    if isinstance(fmt, FloatFormat) and rng.random() < 0.7:
        # Exponents near that of one.
        low = fmt.container_bits - fmt.bits + fmt.fraction_bits
        field = np.uint64(fmt.exponent_mask << low)
        near = rng.integers(fmt.bias - 3, fmt.bias + 4, shape).astype(np.uint64) << np.uint64(low)
        words = (words & ~field) | near
    return words
