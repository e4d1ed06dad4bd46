"""Matrices in a device's memory: places, formats, and numbers to and from container words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.engine import EngineConfig
from ...hw.spec.formats import FORMATS
from ...hw.spec.host.words import not_one_of
from ..numbers.container_words import from_container, to_container

__all__ = ["Matrix", "container_bits", "formats_of", "from_words", "to_words"]


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A matrix in the device's memory.

    Parameters
    ----------
    rows, cols: its shape
    format: of an element: a name of ``FORMATS``, or "fp32c"
    address, stride: bytes
    transposed: it is stored by columns
    """

    rows: int
    cols: int
    format: str
    address: int
    stride: int
    transposed: bool = False

    @property
    def bits(self) -> int:
        """Width of an element in memory."""
        return container_bits(self.format)

    @property
    def stored_shape(self) -> tuple[int, int]:
        """Rows and columns as they lie in memory."""
        return (self.cols, self.rows) if self.transposed else (self.rows, self.cols)


def container_bits(name: str) -> int:
    return 64 if name == "fp32c" else FORMATS[name].container_bits


def formats_of(config: EngineConfig, operation: str) -> tuple[str, str]:
    """The formats of A and B, and of C and D, of an operation.

    Raises ValueError if the engine does not have it.
    """
    known = config.unit.operations
    if operation not in known:
        raise ValueError(not_one_of("`operation`", known, operation))
    found = known[operation]
    return ("fp32c", "fp32c") if found.complex else (found.element.name, found.result.name)


def to_words(values: npt.ArrayLike, name: str) -> npt.NDArray[np.uint64]:
    """Container words of numbers, rounded to the format; integers modulo ``2**bits``.

    Raises ValueError for imaginary parts in a real format, fractions in one of integers.
    """
    if name == "fp32c":
        pairs = np.ascontiguousarray(values, np.complex64)
        return pairs.view(np.uint64).reshape(np.shape(values))
    return to_container(values, FORMATS[name])


def from_words(words: npt.NDArray[np.uint64], name: str) -> npt.NDArray[Any]:
    """Numbers of container words: the format's NumPy type, float32 where there is none."""
    if name == "fp32c":
        return np.ascontiguousarray(words).view(np.complex64).reshape(words.shape)
    return from_container(words, FORMATS[name])
