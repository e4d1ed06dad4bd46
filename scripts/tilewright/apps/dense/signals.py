"""Signals to be transformed: from files, or lines of a photograph; and factors of their lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.extras import need
from ..common.matrix_files import read_array

__all__ = ["radices", "read_signal"]

_LINES = 8


def read_signal(file: Path | None, length: int | None) -> tuple[str, NDArray[Any]]:
    if file:
        array = read_array(file)
        if max(array.shape, default=0) != array.size:
            shape = " x ".join(map(str, array.shape))
            raise UserError(f"{file}: must be one row or one column of samples, not {shape}")
        name, signal = str(file), array.reshape(-1)
    else:
        picture = need("sklearn.datasets", "scikit-learn").load_sample_image("china.jpg")
        middle = picture.shape[0] // 2
        lines = picture[middle : middle + _LINES, :, 1]
        name, signal = f"china.jpg, {_LINES} scan lines", lines.reshape(-1).astype(np.float64)
    if length is None:
        return name, signal
    if not 1 <= length <= len(signal):
        raise UserError(
            f"--length must be in 1..{len(signal)}, the samples there are, not {length}"
        )
    return name, signal[:length]


def radices(length: int, largest: int) -> list[int]:
    """Factors of a length, none above ``largest``, large ones first.

    Raises UserError if the length has a larger prime factor.
    """
    found, rest = [], length
    while rest > 1:
        factor = next((r for r in range(min(largest, rest), 1, -1) if rest % r == 0), 0)
        if not factor:
            prime = next(p for p in range(2, rest + 1) if rest % p == 0)
            raise UserError(
                f"length {length} has the prime factor {prime}; with {largest} rows in the unit "
                f"none may exceed {largest}"
            )
        found.append(factor)
        rest //= factor
    return found or [1]
