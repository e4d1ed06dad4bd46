"""A file's numbers as words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import UserError, user_errors
from ...sim.tcu.words import Array, Words

__all__ = ["as_words"]


def as_words(path: Path, numbers: Array, words: Words) -> Array:
    """A file's numbers as words. Raises UserError for numbers that they do not hold."""
    whole = words.kind.startswith("int") or words.kind == "modular"
    if whole and not np.iscomplexobj(numbers):
        if not np.array_equal(numbers, np.round(numbers)):
            raise UserError(f"{path}: must hold integers for words of {words.name}")
        numbers = numbers.astype(np.int64)
    with user_errors(TypeError, ValueError, about=str(path)):
        return words.array(numbers)
