"""Numbers as a format's patterns and back, many at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import Format, IntFormat
from ..numbers.values import Patterns, decode, encode

__all__ = ["round_to", "values_of"]

_PIECE = 1 << 15


def round_to(data: npt.NDArray[Any], fmt: Format) -> Patterns:
    """Patterns of float64 or int64 numbers: rounded to nearest, ties to even; integers modulo
    ``2**bits``.

    Raises ValueError if an integer format is given infinities, NaN, or floats beyond 64 bits.
    """
    if isinstance(fmt, IntFormat) and data.dtype.kind == "f":
        outside = ~(np.abs(data) < 2.0**63)
        if outside.any():
            raise ValueError(f"{fmt.name} does not hold {data[np.argmax(outside)]}")
        data = np.rint(data).astype(np.int64)
    # Pieces that stay in the processor's cache are three times as fast.
    found = np.empty(len(data), np.uint64)
    for begin in range(0, len(data), _PIECE):
        piece = slice(begin, begin + _PIECE)
        found[piece] = encode(data[piece], fmt)
    return found


def values_of(patterns: npt.NDArray[Any], fmt: Format) -> npt.NDArray[Any]:
    """Numbers of patterns of any unsigned type: float64, or int64 for an integer format."""
    found = np.empty(len(patterns), np.int64 if isinstance(fmt, IntFormat) else np.float64)
    for begin in range(0, len(patterns), _PIECE):
        piece = slice(begin, begin + _PIECE)
        found[piece] = decode(patterns[piece], fmt)
    return found
