"""Elements of operands and of results in a lane with separate units for each number format."""

from __future__ import annotations

from ..formats import FORMATS, Format
from ..gta import element_bytes, is_float, result_bytes

__all__ = [
    "DATAPATH_BITS",
    "WORD_BITS",
    "elements",
    "sum_bits",
    "sum_format",
    "sum_words",
]

DATAPATH_BITS = 64
"""Width of a and of b."""

WORD_BITS = 32
"""Width of a word of c and d."""


def elements(name: str) -> int:
    """Elements of a format in an operand: so many are multiplied a cycle."""
    return DATAPATH_BITS // (8 * element_bytes(name))


def sum_format(name: str) -> Format:
    """Format of the words of an element of c and d."""
    return FORMATS[f"{'fp' if is_float(name) else 'int'}{8 * result_bytes(name)}"]


def sum_words(name: str) -> int:
    """Words of ``sum_format`` that an element of c and d takes, the low one first."""
    return 2 if name == "int64" else 1


def sum_bits(name: str) -> int:
    """Width of an element of c and d; every product of integers fits."""
    return sum_words(name) * sum_format(name).bits
