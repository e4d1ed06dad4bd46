"""The kinds of words that a tensor unit multiplies: numbers of one dtype with their (+) and (x)."""

from .floats import COMPLEX, COMPLEX64, FP32, FP64
from .integers import INT64, WordOverflow, integer
from .kind import Array, Words
from .modular import modular
from .semirings import BOOLEAN, MINPLUS

__all__ = [
    "BOOLEAN",
    "COMPLEX",
    "COMPLEX64",
    "FP32",
    "FP64",
    "INT64",
    "MINPLUS",
    "Array",
    "WordOverflow",
    "Words",
    "integer",
    "modular",
]
