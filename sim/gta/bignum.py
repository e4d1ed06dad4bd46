"""Products of long integers as p-GEMMs of int64: the convolution of their pieces, cut into blocks.

With ``x = sum_i x_i 2**(28 i)``, y likewise, y's pieces go into columns of 64, and each column is
convolved with x by a Toeplitz matrix: ``D[t, n] = sum_k x_(t - k) y_(64 n + k)`` weighs
``2**(28 (t + 64 n))``. A sum of 64 products of 28 bits takes 62 bits, so int64 is never passed.
Source: GTA, section 6.2, BNM of Table 2; sizes and pieces are the project's own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["DEPTH", "PIECE_BITS", "bignum_factors", "bignum_product", "bignum_shape"]

Patterns = npt.NDArray[np.uint64]
Product = Callable[[Patterns, Patterns], Patterns]
"""The product modulo ``2**64`` of matrices of int64, all in patterns."""

PIECE_BITS = 28
DEPTH = 64
"""Products a sum: K of the p-GEMM."""

_MASK = (1 << PIECE_BITS) - 1

_PAIR_BYTES = 2 * PIECE_BITS // 8
"""Bytes of two pieces, whose bits fill whole bytes."""

_ROWS = 1 << 12
"""Rows of the p-GEMM that are computed and added up at a time."""


def bignum_shape(x_bits: int, y_bits: int) -> tuple[int, int, int]:
    """M, N and K of the p-GEMM that multiplies numbers of so many bits."""
    columns = [max(1, -(-bits // (PIECE_BITS * DEPTH))) for bits in (x_bits, y_bits)]
    return columns[0] * DEPTH + DEPTH - 1, columns[1], DEPTH


def bignum_factors(x: int, y: int) -> tuple[Patterns, Patterns]:
    """The matrices (M, K) and (K, N) of two numbers that are not negative, as patterns of int64.

    Raises ValueError for a negative number.
    """
    rows, columns, depth = bignum_shape(x.bit_length(), y.bit_length())
    line = np.zeros(rows + depth - 1, np.uint64)
    line[depth - 1 : rows] = _pieces(x, rows - depth + 1)
    windows = np.lib.stride_tricks.sliding_window_view(line, depth)
    return windows[:, ::-1], _pieces(y, columns * depth).reshape(columns, depth).T


def bignum_product(x: int, y: int, multiply: Product) -> int:
    """The product of two integers, of any length and sign.

    Parameters
    ----------
    multiply: what computes a p-GEMM: the golden model, or a unit by its driver. It is given some
        rows of the first matrix at a time.
    """
    a, b = bignum_factors(abs(x), abs(y))
    weights = np.zeros(len(a) + DEPTH * (b.shape[1] - 1) + 2, np.int64)
    for top in range(0, len(a), _ROWS):
        _add_up(multiply(a[top : top + _ROWS], b), weights[top:])
    total = _carried(weights)
    return -total if (x < 0) != (y < 0) else total


def _pieces(number: int, count: int) -> Patterns:
    """So many pieces of a number, an even count, lowest first."""
    if number < 0:
        raise ValueError(f"numbers must be at least 0, not {number}")
    content = number.to_bytes(count // 2 * _PAIR_BYTES, "little")
    padded = np.zeros((count // 2, 8), np.uint8)
    padded[:, :_PAIR_BYTES] = np.frombuffer(content, np.uint8).reshape(-1, _PAIR_BYTES)
    pairs = padded.view("<u8")[:, 0]
    return np.stack([pairs & np.uint64(_MASK), pairs >> np.uint64(PIECE_BITS)], axis=1).reshape(-1)


def _add_up(sums: Patterns, weights: npt.NDArray[np.int64]) -> None:
    """Add sums, whose first row and column weigh 1, to the weights of their pieces."""
    for place in range(3):
        digits = (sums >> np.uint64(PIECE_BITS * place)).view(np.int64) & _MASK
        for column in range(digits.shape[1]):
            first = DEPTH * column + place
            weights[first : first + len(digits)] += digits[:, column]


def _carried(weights: npt.NDArray[np.int64]) -> int:
    """The number of which the weights are the pieces, with carries."""
    carry = 0
    pieces = []
    for weight in weights.tolist():
        carry += weight
        pieces.append(carry & _MASK)
        carry >>= PIECE_BITS
    assert carry == 0
    pieces += [0] * (len(pieces) % 2)
    pairs = np.array(pieces[0::2], "<u8") | np.array(pieces[1::2], "<u8") << np.uint64(PIECE_BITS)
    content = pairs.view(np.uint8).reshape(-1, 8)[:, :_PAIR_BYTES].tobytes()
    return int.from_bytes(content, "little")
