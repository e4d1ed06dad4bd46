"""A file's numbers as words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import UserError, user_errors
from ...sim.tcu.words import Array, Words, modular
from ...sim.tcu.words.floats import Floats
from ..common.rounding import warn_special
from .unit import words_named

__all__ = ["as_words", "words_for"]


def words_for(words: str | None, modulus: int | None, *numbers: Array) -> Words:
    """Words of a name, or residues; unless said, floats that hold all the numbers."""
    if modulus is not None:
        return modular(modulus)
    complex_ = any(np.iscomplexobj(one) for one in numbers)
    return words_named(words or ("complex" if complex_ else "fp64"))


def as_words(path: Path, numbers: Array, words: Words) -> Array:
    """A file's numbers as words. Says on stderr if some are infinite or NaN; raises UserError for
    numbers that the words do not hold."""
    whole = words.kind.startswith("int") or words.kind == "modular"
    if whole and not np.iscomplexobj(numbers):
        if not np.isfinite(numbers).all() or not np.array_equal(numbers, np.round(numbers)):
            raise UserError(f"{path}: must hold integers for words of {words.name}")
        fit = np.abs(numbers).max(initial=0) < 1 << 63
        numbers = numbers.astype(np.int64) if fit else np.vectorize(int, otypes=[object])(numbers)
    with user_errors(TypeError, ValueError, about=str(path)):
        found = words.array(numbers)
    if isinstance(words, Floats):
        warn_special(path, numbers)
    return found
