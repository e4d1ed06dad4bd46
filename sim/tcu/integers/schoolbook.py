"""Theorem 9: the schoolbook's products of all pieces, as a product of a tall matrix.

Source: section 3.7 of the paper, but that A' ascends, from piece n' - 1 - i on in row i. The paper
prints it descending; what is summed into a coefficient is then not of one power.
"""

from __future__ import annotations

import numpy as np

from ..formulas.integers import piece_bits, sums_fit
from ..formulas.streaming import stream as rows_of
from ..tensor_unit import TensorUnit, add, stream
from ..words import Array
from ..words.integers import Integers


def checked(unit: TensorUnit, algorithm: str, a: int, b: int, piece: int | None) -> int:
    """Bits of a piece: those that are given, or the most that words of the unit allow.

    Raises TypeError and ValueError for what are no integers from 0, for words that are none, or
    too narrow, and for pieces whose sums of products do not fit.
    """
    for name, value in (("a", a), ("b", b)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"`{name}` must be an integer, not {type(value).__name__}")
        if value < 0:
            raise ValueError(f"`{name}` must be 0 or more, not negative")
    words = unit.words
    if not isinstance(words, Integers):
        raise ValueError(f"words of {algorithm} must be integers, not {words.name}")
    most = piece_bits(unit.s, words.bits)
    if most < 1:
        raise ValueError(
            f"words of {algorithm} on a unit of side {unit.s} must have at least "
            f"{3 + (unit.s - 1).bit_length()} bits, not {words.bits}"
        )
    if piece is None:
        return most
    if isinstance(piece, bool) or not isinstance(piece, int):
        raise TypeError(f"`piece` must be an integer, not {type(piece).__name__}")
    if not 1 <= piece <= most:
        raise ValueError(
            f"`piece` must be in 1..{most} bits, for {words.name} to hold sums of {unit.s} "
            f"products, not {piece}"
        )
    return piece


def count_of(value: int, piece: int) -> int:
    """Pieces of an integer, one at least."""
    return max(1, -(-value.bit_length() // piece))


def cut(value: int, piece: int, count: int) -> Array:
    """The ``count`` lowest pieces, which are all, of ``piece`` bits each: the lowest first."""
    content = np.frombuffer(value.to_bytes(-(-count * piece // 8), "little"), np.uint8)
    bits = np.unpackbits(content, count=count * piece, bitorder="little")
    return bits.reshape(count, piece).astype(np.int64) @ (1 << np.arange(piece))


def carried(unit: TensorUnit, coefficients: Array, piece: int) -> int:
    """``sum(c << i * piece)`` of coefficients from 0, which fit in as many pieces as there are.

    CPU: a carry is added to each, and what is above a piece is divided off.
    """
    pieces, carry, mask = [], 0, (1 << piece) - 1
    for coefficient in coefficients.tolist():
        total = coefficient + carry
        pieces.append(total & mask)
        carry = total >> piece
    assert not carry
    unit.cpu(adds=len(pieces), multiplies=len(pieces))
    bits = (np.array(pieces)[:, None] >> np.arange(piece) & 1).astype(np.uint8)
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


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
