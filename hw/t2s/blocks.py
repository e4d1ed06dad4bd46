"""Layout of a block of words in a memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

__all__ = ["block_depth"]


def block_depth(extents: Sequence[int], *, double: bool) -> int:
    """Words of a memory that holds a block, or two of them.

    A word's place is the digits of its loops side by side, each a power of two wide but the
    outermost; the half is the lowest bit.

    Parameters
    ----------
    extents: trip counts of the digits, outermost first
    double: whether there are two blocks
    """
    digits = [extent for extent in extents if extent > 1]
    inner = prod(1 << (extent - 1).bit_length() for extent in digits[1:])
    return (1 + double) * (digits[0] if digits else 1) * inner
