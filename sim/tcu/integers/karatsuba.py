"""Theorem 10: Karatsuba's three products of halves, until a schoolbook's takes one call.

Source: section 3.7 of the paper. It halves down to s pieces, where Theorem 9 would take s + l / s;
a call takes m + l at least, and m pieces are as many as one call takes. Below, halves are three
calls in place of one.
"""

from __future__ import annotations

from ..formulas.integers import halvings, parts
from ..tensor_unit import TensorUnit
from .schoolbook import checked, count_of, product

__all__ = ["karatsuba"]


def karatsuba(
    unit: TensorUnit, a: int, b: int, piece: int | None = None, base: int | None = None
) -> int:
    """``a b`` of integers from 0, of n pieces at most: 3^h schoolbook products of ceil(n / 2^h).

    Parameters
    ----------
    piece: kappa', bits of a piece; the most with 2 kappa' + log2 s < kappa if not given
    base: pieces from which on integers are halved; m if not given

    CPU: 11 w + 3 words are added where 2 w pieces are halved. Raises what `schoolbook` raises, and
    ValueError for a base below 1.
    """
    bits = checked(unit, "karatsuba", a, b, piece)
    if base is not None and (isinstance(base, bool) or not isinstance(base, int)):
        raise TypeError(f"`base` must be an integer, not {type(base).__name__}")
    if base is not None and base < 1:
        raise ValueError(f"`base` must be 1 or more, not {base}")
    n = max(count_of(a, bits), count_of(b, bits))
    h = halvings(n, unit.s, base or 0)
    return _product(unit, a, b, parts(n, h), h, bits)


def _product(unit: TensorUnit, x: int, y: int, least: int, h: int, piece: int) -> int:
    """Multiplies two integers of ``least 2^h`` pieces."""
    if not h:
        return product(unit, x, y, least, least, piece)
    w = least << (h - 1)
    half = w * piece
    mask = (1 << half) - 1
    x_low, x_high, y_low, y_high = x & mask, x >> half, y & mask, y >> half
    low = _product(unit, x_low, y_low, least, h - 1, piece)
    high = _product(unit, x_high, y_high, least, h - 1, piece)
    # A sum of halves has a carry bit, which must not make it a piece longer.
    x_sum, y_sum = x_low + x_high, y_low + y_high
    x_carry, y_carry = x_sum >> half, y_sum >> half
    x_rest, y_rest = x_sum & mask, y_sum & mask
    middle = _product(unit, x_rest, y_rest, least, h - 1, piece)
    middle += (x_carry * y_rest) << half
    middle += (y_carry * x_rest) << half
    middle += (x_carry & y_carry) << (2 * half)
    middle = middle - low - high
    # Sums of halves; what carries add; two differences; the sum, whose carry may go to the end.
    unit.cpu(adds=2 * w + (2 * w + 1) + 2 * (2 * w + 1) + 3 * w)
    return low + (middle << half) + (high << (2 * half))
