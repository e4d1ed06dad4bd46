"""Theorem 5: Floyd and Warshall's algorithm in blocks of the unit's side."""

from __future__ import annotations

import numpy as np

from ..tensor_unit import TensorUnit, add, multiple, multiply, padded, stream
from ..words import Array
from ..words.floats import Floats
from ..words.integers import Integers


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


def closure(unit: TensorUnit, adjacency: Array) -> Array:
    """Finds the vertices that each vertex (row) reaches over one edge or more: 0 and 1, or
    booleans. For min-plus words it finds the distances.

    b (b - 1) calls of n - s rows, b = ceil(n / s). A side that s does not divide is padded by
    vertices without edges. Words are integers or real floats, which take sums of products and a
    minimum with 1, or those of a semiring, boolean or minplus, which need no last step.

    Parameters
    ----------
    adjacency: of a directed graph, 0 and 1; of min-plus words lengths from 0, inf for no edge

    Raises TypeError and ValueError for other words and other matrices.
    """
    x = edges(unit, adjacency)
    _check(unit, x)
    s, n = unit.s, len(x)
    wide = multiple(n, s)
    d = padded(unit, x, wide, wide)
    if d is x:
        d = x.copy()
        unit.cpu(moves=d.size)
    for k in range(0, wide, s):
        here = slice(k, k + s)
        others = [rows for rows in (slice(0, k), slice(k + s, wide)) if rows.start < rows.stop]
        block = d[here, here]
        for t in range(s):
            _join(unit, block, block[:, t, None], block[t])
        for there in others:
            for t in range(s):
                _join(unit, d[here, there], block[:, t, None], d[k + t, there])
                _join(unit, d[there, here], d[there, k + t, None], block[t])
        _update(unit, d, here, others)
    return d[:n, :n]


def _update(unit: TensorUnit, d: Array, here: slice, others: list[slice]) -> None:
    """Updates all blocks beside row and column k: loads each X_kj, and streams all X_ik past it."""
    if not others:
        return
    column = np.concatenate([d[there, here] for there in others])
    unit.cpu(moves=column.size)
    s = unit.s
    for there in others:
        for j in range(there.start, there.stop, s):
            made = stream(unit, column, d[here, j : j + s])
            first = 0
            for rows in others:
                height = rows.stop - rows.start
                found = add(unit, d[rows, j : j + s], made[first : first + height])
                d[rows, j : j + s] = _at_most_one(unit, found)
                first += height


def _join(unit: TensorUnit, x: Array, column: Array, row: Array) -> None:
    """``x <- x (+) column row``, of zeros and ones the larger of both."""
    product = multiply(unit, column, row)
    if holds_whole_numbers(unit):
        x[...] = np.maximum(x, product)
        unit.cpu(adds=x.size)
    else:
        x[...] = add(unit, x, product)


def _at_most_one(unit: TensorUnit, x: Array) -> Array:
    if not holds_whole_numbers(unit):
        return x
    unit.cpu(adds=x.size)
    return np.asarray(np.minimum(x, unit.words.one))


def _check(unit: TensorUnit, x: Array) -> None:
    words = unit.words
    if words.kind == "minplus":
        if (x < 0).any():
            raise ValueError(f"`adjacency` must hold lengths of 0 or more, not {x.min():g}")
    elif holds_whole_numbers(unit):
        whole_numbers(unit, "closure", unit.s + 1)
        if not zeros_and_ones(x):
            raise ValueError("`adjacency` must hold 0 and 1")
    elif words.kind != "boolean":
        raise ValueError(
            f"words of closure must be integers, real floats, boolean or minplus, not {words.name}"
        )
