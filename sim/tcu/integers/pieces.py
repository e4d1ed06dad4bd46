"""Long integers in pieces: cut, and put together again with carries."""

from __future__ import annotations

import numpy as np

from ..formulas.integers import piece_bits
from ..tensor_unit import TensorUnit
from ..words import Array
from ..words.integers import Integers

__all__ = ["carried", "checked", "count_of", "cut"]


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
