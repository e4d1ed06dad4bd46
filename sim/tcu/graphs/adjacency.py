"""Adjacency matrices: what the algorithms take, checked before anything runs."""

from __future__ import annotations

import numpy as np

from ..tensor_unit import TensorUnit
from ..words import Array
from ..words.floats import Floats
from ..words.integers import Integers

__all__ = ["edges", "holds_whole_numbers", "undirected", "whole_numbers", "zeros_and_ones"]


def edges(unit: TensorUnit, adjacency: Array) -> Array:
    """A square matrix as words. Raises TypeError for other words, ValueError for other shapes."""
    found = unit.words.array(adjacency)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.size:
        raise ValueError(f"`adjacency` must be a square matrix, not of shape {found.shape}")
    return found


def undirected(a: Array) -> Array:
    """Returns the matrix. Raises ValueError if it is not of an undirected graph without weights."""
    if not zeros_and_ones(a) or not np.array_equal(a, a.T) or a.diagonal().any():
        raise ValueError(
            "`adjacency` must be of an undirected graph without weights: 0 and 1, symmetric, 0 on "
            "the diagonal"
        )
    return a


def holds_whole_numbers(unit: TensorUnit) -> bool:
    """True if words are those of integers, or of real floats, exact up to their significand's
    end."""
    words = unit.words
    return isinstance(words, Integers) or (isinstance(words, Floats) and words.dtype.kind == "f")


def whole_numbers(unit: TensorUnit, algorithm: str, largest: int) -> None:
    """Refuse floats that do not hold all whole numbers up to ``largest``; of integers what does
    not fit becomes a WordOverflow."""
    words = unit.words
    if isinstance(words, Floats):
        held = int(1 / words.roundoff)
        if largest > held:
            raise ValueError(
                f"words of {algorithm} must hold whole numbers up to {largest}, not up to {held} "
                f"as {words.name} does"
            )


def zeros_and_ones(x: Array) -> bool:
    """True if all is 0 or 1."""
    return bool(np.all((x == 0) | (x == 1)))
