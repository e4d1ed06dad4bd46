"""Operands in blocks of the unit's side: padding, counted as moves, and views, which are free."""

from __future__ import annotations

import numpy as np

from .tensor_unit import TensorUnit
from .words import Array

__all__ = ["block", "multiple", "padded"]


def multiple(length: int, s: int) -> int:
    """The least multiple of ``s`` that is ``length`` or more, from ``s``."""
    return max(1, -(-length // s)) * s


def padded(unit: TensorUnit, x: Array, *shape: int) -> Array:
    """``x`` in the first corner of an array of ``shape``, zeros of the words elsewhere.

    ``x`` itself, which costs nothing, if it has the shape; a copy otherwise, a move a word of it.
    """
    if x.shape == shape:
        return x
    wide = np.full(shape, unit.words.zero, unit.words.dtype)
    wide[tuple(slice(length) for length in x.shape)] = x
    unit.cpu(moves=wide.size)
    return wide


def block(x: Array, i: int, j: int, s: int) -> Array:
    """Block (i, j) of a matrix in blocks of (s, s): a view."""
    return x[i * s : (i + 1) * s, j * s : (j + 1) * s]
