"""Theorem 9: the schoolbook's products of all pieces, as a product of a tall matrix.

Source: section 3.7 of the paper, but that A' ascends, from piece n' - 1 - i on in row i. The paper
prints it descending; what is summed into a coefficient is then not of one power.
"""

from __future__ import annotations

import numpy as np

from ..elementwise import add
from ..formulas.integers import sums_fit
from ..formulas.streaming import stream as rows_of
from ..streaming import stream
from ..tensor_unit import TensorUnit
from ..words import Array
from ..words.integers import Integers
from .pieces import carried, checked, count_of, cut

__all__ = ["product", "schoolbook"]


def schoolbook(unit: TensorUnit, a: int, b: int, piece: int | None = None) -> int:
    """``a b`` of integers from 0: of p and q <= p pieces, ceil(q / m) calls of p + s - 1 rows.

    piece: kappa', bits of a piece; the most with 2 kappa' + log2 s < kappa if not given

    CPU: elements of the calls' results are added up to coefficients, cut in two where a word does
    not hold the sums; carries. Raises TypeError and ValueError for other operands, words that are
    no integers or too narrow, and pieces that are too wide.
    """
    bits = checked(unit, "schoolbook", a, b, piece)
    long, short = (a, b) if a >= b else (b, a)
    return product(unit, long, short, count_of(long, bits), count_of(short, bits), bits)


def product(unit: TensorUnit, x: int, y: int, p: int, q: int, piece: int) -> int:
    """``x y`` of integers of ``p`` and ``q`` pieces of ``piece`` bits."""
    words, s, m = unit.words, unit.s, unit.m
    assert isinstance(words, Integers)
    cuts = not sums_fit(q, piece, words.bits)
    _check_length(unit, words, q, piece, cuts)
    tall = _tall(unit, cut(x, piece, p))
    # Columns of B' are pieces of y from the highest down.
    lines = np.zeros(-(-q // m) * m, np.int64)
    lines[:q] = cut(y, piece, q)[::-1]
    sums = np.zeros(p + q, np.int64)
    unit.cpu(moves=lines.size + sums.size)
    for first in range(0, q, m):
        made = stream(unit, tall, lines[first : first + m].reshape(s, s).T)
        for column, start in zip(made.T, range(first, min(first + m, q), s), strict=False):
            # Element i is of coefficient p + q - 2 - start - i: those below 0 are of no pieces.
            highest = p + q - 1 - start
            found = column[: min(p + s - 1, highest)][::-1]
            place = slice(highest - len(found), highest)
            if not cuts:
                sums[place] = add(unit, sums[place], found)
                continue
            unit.cpu(multiplies=len(found))
            above = slice(place.start + 1, place.stop + 1)
            sums[place] = add(unit, sums[place], found & ((1 << piece) - 1))
            sums[above] = add(unit, sums[above], found >> piece)
    return carried(unit, sums, piece)


def _tall(unit: TensorUnit, pieces: Array) -> Array:
    """A', (p + s - 1, s): element (i, t) is piece p - 1 - i + t, zero if there is none.

    Rows overlap: they are where the unit reads them in the pieces with zeros around them, which
    are written once. On a weak unit, rows of zeros make it whole squares.
    """
    s, p = unit.s, len(pieces)
    high = rows_of(p + s - 1, s, unit.weak).rows
    around = np.zeros(high + s - 1, np.int64)
    around[high - p : high] = pieces
    unit.cpu(moves=around.size)
    return np.lib.stride_tricks.sliding_window_view(around, s)[::-1]


def _check_length(unit: TensorUnit, words: Integers, q: int, piece: int, cuts: bool) -> None:
    """Sums of lower and of upper parts fit, and their carries; ValueError otherwise."""
    each = (unit.s + 1) * ((1 << piece) + 2)
    most = (1 << (words.bits - 1)) // each * unit.s
    if cuts and q > most:
        raise ValueError(
            f"words of {words.name} must hold sums of {q} pieces of {piece} bits, but hold those "
            f"of {most}: choose narrower pieces"
        )
