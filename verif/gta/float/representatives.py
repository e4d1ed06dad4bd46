"""Floats of each class of values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat


def representatives(fmt: FloatFormat) -> npt.NDArray[np.uint64]:
    """One of each class of values and at the ends of each, of both signs."""
    one = fmt.bias << fmt.fraction_bits
    subnormal = [1, fmt.fraction_mask]
    normal = [fmt.fraction_mask + 1, one, one + 1, fmt.largest]
    found = np.array([0, *subnormal, *normal, fmt.infinity, fmt.infinity + 1, fmt.nan], np.uint64)
    return np.concatenate([found, found | np.uint64(1 << (fmt.bits - 1))])
