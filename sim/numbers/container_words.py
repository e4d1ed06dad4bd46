"""Numbers to and from container words: what lies in memory, a value in its word's upper bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import Format, IntFormat
from .given import real_numbers, whole_numbers
from .values import decode, encode

__all__ = ["from_container", "to_container"]

_DTYPES = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


def to_container(values: npt.ArrayLike, fmt: Format) -> npt.NDArray[np.uint64]:
    """Container words of numbers, rounded to the format; integers modulo ``2**bits``.

    Raises ValueError for imaginary parts, and for fractions in a format of integers.
    """
    fitting = whole_numbers if isinstance(fmt, IntFormat) else real_numbers
    return encode(fitting(values, fmt.name), fmt) << np.uint64(fmt.container_bits - fmt.bits)


def from_container(words: npt.NDArray[np.uint64], fmt: Format) -> npt.NDArray[Any]:
    """Numbers of container words: the format's NumPy type, float32 where there is none."""
    numbers = decode(words >> np.uint64(fmt.container_bits - fmt.bits), fmt)
    if numbers.dtype == np.int64:
        return numbers.astype(f"i{fmt.container_bits // 8}")
    with np.errstate(invalid="ignore"):
        return numbers.astype(_DTYPES.get(fmt.name, np.float32))
