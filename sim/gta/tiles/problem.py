"""A product as the array takes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ....hw.spec.gta import element_bytes, is_float, limbs

__all__ = ["Problem"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """D = A B (+ C) as the array takes it: of IS A is the transposed B.

    Parameters
    ----------
    m, n, k: sizes
    format: of A and B
    operation: "ws" or "os"
    width: bytes of a result in the lanes
    segments: parts into which K is cut at least
    lateral, overlap: see ``FIELDS``
    """

    m: int
    n: int
    k: int
    format: str
    operation: str
    width: int
    segments: int = 1
    lateral: bool = True
    overlap: bool = True

    @cached_property
    def floats(self) -> bool:
        """Whether the format is a floating-point one."""
        return is_float(self.format)

    @cached_property
    def limbs(self) -> int:
        """Rows and columns that an element takes."""
        return 1 if self.floats else limbs(self.format)

    @cached_property
    def element(self) -> int:
        """Bytes of an element of A and B."""
        return element_bytes(self.format)
