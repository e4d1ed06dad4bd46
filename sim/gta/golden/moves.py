"""Golden model of the vector operations that move elements and compute nothing: the bits of an
element stay as they are, those of a NaN too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FORMATS
from ....hw.spec.gta import is_float
from ...numbers.container_words import words_of
from ...numbers.values import Patterns

__all__ = ["select", "slide_down", "slide_up"]


def select(format: str, mask: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> Patterns:
    """``a`` where the mask is not 0, elsewhere ``b``; they broadcast.

    Raises TypeError for words that are no integers, ValueError for words too wide.
    """
    flags = words_of(mask, _bits(format)) != 0
    return np.where(flags, words_of(a, _bits(format)), words_of(b, _bits(format)))


def slide_up(format: str, a: npt.ArrayLike, places: int, fill: int = 0) -> Patterns:
    """Element i moves to place ``i + places`` of the last axis; the first places get ``fill``, the
    last elements are lost.

    Raises TypeError for words that are no integers, ValueError for words too wide and for
    ``places`` below 0.
    """
    words, filled, kept = _room(format, a, places, fill)
    filled[..., words.shape[-1] - kept :] = words[..., :kept]
    return filled


def slide_down(format: str, a: npt.ArrayLike, places: int, fill: int = 0) -> Patterns:
    """Element ``i + places`` moves to place i of the last axis; the first elements are lost, the
    last places get ``fill``. Raises as ``slide_up``."""
    words, filled, kept = _room(format, a, places, fill)
    filled[..., :kept] = words[..., words.shape[-1] - kept :]
    return filled


def _bits(format: str) -> int:
    is_float(format)  # refuses what is no format of GTA
    return FORMATS[format].bits


def _room(format: str, a: npt.ArrayLike, places: int, fill: int) -> tuple[Patterns, Patterns, int]:
    """The elements, as many that are ``fill``, and how many elements stay."""
    if places < 0:
        raise ValueError(f"`places` must be at least 0, not {places}")
    words = words_of(a, _bits(format))
    filled = np.broadcast_to(words_of(fill, _bits(format)), words.shape).copy()
    return words, filled, max(0, words.shape[-1] - places)
