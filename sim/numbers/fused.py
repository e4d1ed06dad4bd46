"""The fused dot product ``D = c + sum_k a_k * b_k`` with one rounding, bit for bit.

What the hardware computes, term by term: with ``A`` the largest exponent among the non-zero terms
(the sum of the operands' exponents for a product), every term is truncated toward zero to a
multiple of ``2**(A - alignment_bits)``, the truncated terms are summed exactly, and the sum is
rounded once. If all terms that lost something have the same sign, the sum is known to lie an
infinitesimal amount on that side, which decides ties; if terms of both signs lost something,
nothing is known and the sum stands as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FloatFormat
from .floats import Bools, Ints, Unpacked, round_and_pack, unpack

__all__ = ["Factor", "factor", "fused_dot_product", "fused_products"]

_SUM_BITS = 62
"""Magnitude a sum in 64-bit integers may reach, in bits."""

_CHUNK = 1 << 13
"""Dot products worked on at a time: the working set stays in the level-2 cache."""


class Factor(NamedTuple):
    """One operand of every product: patterns unpacked, the sign in the significand."""

    signed: Ints
    exponent: Ints
    unpacked: Unpacked
    finite: bool

    def part(self, index: Any) -> Unpacked:
        """Class and sign of the operands an index selects; an integer is that of a product."""
        u = self.unpacked
        return Unpacked(
            u.negative[index],
            u.exponent[index],
            u.significand[index],
            u.zero[index],
            u.infinite[index],
            u.nan[index],
        )


class _Sum(NamedTuple):
    """The truncated sum in units of ``2**exponent``, and on which side the exact one lies."""

    total: Ints
    exponent: Ints
    residue: npt.NDArray[np.int8]
    exact: Bools


def factor(patterns: npt.ArrayLike, fmt: FloatFormat) -> Factor:
    """Unpack operands whose first axis runs over the products."""
    fields = unpack(patterns, fmt)
    signed = np.where(fields.negative, -fields.significand, fields.significand)
    signed[fields.zero] = 0
    finite = not (fields.infinite.any() or fields.nan.any())
    return Factor(signed, fields.exponent, fields, finite)


def fused_dot_product(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
    *,
    operand: FloatFormat,
    result: FloatFormat,
    alignment_bits: int,
) -> npt.NDArray[np.uint64]:
    """Fused dot products along the last axis.

    Parameters
    ----------
    a, b: unsigned patterns of ``operand``, shape (..., n); leading axes broadcast
    c: unsigned patterns of ``result``, shape (...)
    alignment_bits: window below the largest term, in bits

    Returns
    -------
    Patterns of ``result``, shape (...).
    """
    a, b, c = np.asarray(a), np.asarray(b), np.asarray(c)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"`a` and `b` must have as many products, not {a.shape} and {b.shape}")
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1], c.shape)
    products = a.shape[-1]

    def along_first(x: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        full = np.broadcast_to(x, (*shape, products)).reshape(-1, products)
        return np.ascontiguousarray(full.T)

    flat_c = np.broadcast_to(c, shape).reshape(-1)
    d = fused_products(
        [(factor(along_first(a), operand), factor(along_first(b), operand))],
        flat_c,
        operand=operand,
        result=result,
        alignment_bits=alignment_bits,
    )
    return d.reshape(shape)


def fused_products(
    pairs: Sequence[tuple[Factor, Factor]],
    c: npt.ArrayLike,
    *,
    operand: FloatFormat,
    result: FloatFormat,
    alignment_bits: int,
) -> npt.NDArray[np.uint64]:
    """Fused dot products of operands that are already unpacked.

    Parameters
    ----------
    pairs: the products, in groups; first axis over the products of a group, the remaining ones
        broadcast against ``c``. The last axis is the longest: work is cut along it.
    c: patterns of ``result``

    Returns
    -------
    Patterns of ``result``, shape of ``c``.
    """
    addend = np.asarray(c)
    d = np.empty(addend.shape, np.uint64)
    length = addend.shape[-1]
    stride = max(1, _CHUNK * length // max(1, addend.size))
    for start in range(0, length, stride):
        cut = (Ellipsis, slice(start, start + stride))
        window = [(_cut(left, cut, length), _cut(right, cut, length)) for left, right in pairs]
        part = factor(addend[cut][np.newaxis], result)
        d[cut] = _round_sum(window, part, operand, result, alignment_bits)
    return d


def _cut(operand: Factor, cut: Any, length: int) -> Factor:
    if operand.signed.shape[-1] != length:
        return operand
    return Factor(operand.signed[cut], operand.exponent[cut], operand.part(cut), operand.finite)


def _term_bits(operand: FloatFormat, result: FloatFormat, alignment_bits: int) -> int:
    """Bits of the largest term, before and after its alignment."""
    before = max(2 * operand.significand_bits, result.significand_bits)
    return max(before, alignment_bits + 2)


def _round_sum(
    pairs: Sequence[tuple[Factor, Factor]],
    addend: Factor,
    operand: FloatFormat,
    result: FloatFormat,
    alignment_bits: int,
) -> npt.NDArray[np.uint64]:
    """One chunk: sum, zero signs, rounding, special values."""
    fits = _term_bits(operand, result, alignment_bits) <= _SUM_BITS
    summed = (_sum_int64 if fits else _sum_exact)(pairs, addend, operand, result, alignment_bits)
    negative = summed.total < 0
    nothing = summed.total == 0
    if nothing.any():
        negative = np.where(nothing, summed.residue < 0, negative)
        lone = nothing & summed.exact
        negative |= lone & _all_negative_zeros(pairs, addend, negative.shape)
    residue = np.where(negative, -summed.residue, summed.residue)
    d = round_and_pack(negative, np.abs(summed.total), summed.exponent, result, residue)
    if not (addend.finite and all(left.finite and right.finite for left, right in pairs)):
        d = _special_values(pairs, addend, result, d)
    return d.view(np.uint64)


def _sum_int64(
    pairs: Sequence[tuple[Factor, Factor]],
    addend: Factor,
    operand: FloatFormat,
    result: FloatFormat,
    alignment_bits: int,
) -> _Sum:
    """The truncated sum where every term fits a signed 64-bit integer."""
    top = addend.exponent[0].copy()
    exponents = []
    for left, right in pairs:
        for k in range(left.signed.shape[0]):
            exponent = left.exponent[k] + right.exponent[k]
            np.maximum(top, exponent, out=top)
            exponents.append(exponent)
    totals = [np.zeros(top.shape, np.int64)]
    capacity = 1 << (_SUM_BITS - _term_bits(operand, result, alignment_bits))
    above = np.zeros(top.shape, np.bool_)
    below = np.zeros(top.shape, np.bool_)

    def accumulate(term: Ints, exponent: Ints, grid: int) -> None:
        """Add a term whose bit 0 weighs ``2**(exponent - grid)``."""
        room = alignment_bits - grid
        shift = top - exponent
        if room < 0:
            shift -= room
        else:
            term = term << room
        np.minimum(shift, 63, out=shift)
        floor = term >> shift
        lost = (floor << shift) != term
        under = lost & (floor < 0)
        np.logical_or(below, under, out=below)
        np.logical_or(above, lost > under, out=above)
        np.add(totals[-1], floor, out=totals[-1])
        np.add(totals[-1], under, out=totals[-1])

    position = iter(exponents)
    terms = 1
    for left, right in pairs:
        for k in range(left.signed.shape[0]):
            terms += 1
            if terms > capacity:
                terms = 1
                totals.append(np.zeros(top.shape, np.int64))
            accumulate(left.signed[k] * right.signed[k], next(position), 2 * operand.fraction_bits)
    accumulate(addend.signed[0], addend.exponent[0], result.fraction_bits)
    residue = above.astype(np.int8) - below.astype(np.int8)
    lsb = top - alignment_bits
    if len(totals) == 1:
        return _Sum(totals[0], lsb, residue, ~(above | below))
    total, excess, residue = _combine(totals, residue)
    return _Sum(total, lsb + excess, residue, ~(above | below))


def _combine(
    totals: list[Ints], residue: npt.NDArray[np.int8]
) -> tuple[Ints, Ints, npt.NDArray[np.int8]]:
    """Add partial sums in two limbs; where 61 bits are too few, cut 8 bits off into the residue."""
    low = sum((total & 0xFFFFFFFF for total in totals), np.int64(0))
    high = sum((total >> 32 for total in totals), np.int64(0)) + (low >> 32)
    low = low & 0xFFFFFFFF
    large = (high >= 1 << 28) | (high < -(1 << 28))
    cut = (high << 24) | (low >> 8)
    total = np.where(large, cut, (high << 32) | low)
    side = np.where(large & ((low & 0xFF) != 0), np.int8(1), residue)
    return total, np.where(large, np.int64(8), np.int64(0)), side


def _sum_exact(
    pairs: Sequence[tuple[Factor, Factor]],
    addend: Factor,
    operand: FloatFormat,
    result: FloatFormat,
    alignment_bits: int,
) -> _Sum:
    """The truncated sum of any width, one dot product at a time in Python integers.

    The sum is cut to 60 bits; what is cut off lies on the side of its own sign and joins the
    residue, which is safe because 60 bits are more than any format's significand and a guard bit.
    """
    shape = addend.signed.shape[1:]
    terms: list[tuple[list[int], list[int], list[int], int]] = []
    for left, right in pairs:
        for k in range(left.signed.shape[0]):
            columns = [left.signed[k], right.signed[k], left.exponent[k] + right.exponent[k]]
            flat = [np.broadcast_to(column, shape).ravel().tolist() for column in columns]
            terms.append((flat[0], flat[1], flat[2], 2 * operand.fraction_bits))
    one = [1] * int(np.prod(shape))
    terms.append(
        (addend.signed[0].ravel().tolist(), one, addend.exponent[0].ravel().tolist(),
         result.fraction_bits)
    )  # fmt: skip
    total = np.zeros(len(one), np.int64)
    exponent = np.zeros(len(one), np.int64)
    residue = np.zeros(len(one), np.int8)
    exact = np.zeros(len(one), np.bool_)
    for i in range(len(one)):
        here = [(x[i] * y[i], e[i], grid) for x, y, e, grid in terms]
        total[i], exponent[i], residue[i], exact[i] = _sum_one(here, alignment_bits)
    return _Sum(
        total.reshape(shape), exponent.reshape(shape), residue.reshape(shape), exact.reshape(shape)
    )


def _sum_one(terms: list[tuple[int, int, int]], alignment_bits: int) -> tuple[int, int, int, bool]:
    """Sum, exponent, residue, exactness of terms (significand, exponent, grid below it)."""
    present = [term for term in terms if term[0]]
    if not present:
        return 0, 0, 0, True
    lsb = max(exponent for _, exponent, _ in present) - alignment_bits
    total, above, below = 0, False, False
    for significand, exponent, grid in present:
        shift = lsb - (exponent - grid)
        magnitude = abs(significand)
        kept = magnitude >> shift if shift > 0 else magnitude << -shift
        lost = shift > 0 and kept << shift != magnitude
        total += kept if significand > 0 else -kept
        above |= lost and significand > 0
        below |= lost and significand < 0
    residue = int(above) - int(below)
    exact = not (above or below)
    excess = max(0, abs(total).bit_length() - 60)
    if excess:
        sign = 1 if total > 0 else -1
        magnitude = abs(total)
        if residue * sign < 0:
            magnitude -= 1
            residue = sign
        kept = magnitude >> excess
        if kept << excess != magnitude:
            residue = sign
        total = sign * kept
    return total, lsb + excess, residue, exact


def _all_negative_zeros(
    pairs: Sequence[tuple[Factor, Factor]], addend: Factor, shape: tuple[int, ...]
) -> Bools:
    zeros = addend.unpacked.zero[0] & addend.unpacked.negative[0]
    for left, right in pairs:
        for k in range(left.signed.shape[0]):
            x, y = left.part(k), right.part(k)
            zeros = zeros & (x.zero | y.zero) & (x.negative != y.negative)
    return np.broadcast_to(zeros, shape)


def _special_values(
    pairs: Sequence[tuple[Factor, Factor]], addend: Factor, result: FloatFormat, finite: Ints
) -> Ints:
    """Replace results that infinities and NaN decide."""
    c = addend.part(0)
    nan, plus, minus = c.nan.copy(), c.infinite & ~c.negative, c.infinite & c.negative
    for left, right in pairs:
        for k in range(left.signed.shape[0]):
            x, y = left.part(k), right.part(k)
            negative = x.negative != y.negative
            nan |= x.nan | y.nan | (x.infinite & y.zero) | (x.zero & y.infinite)
            infinite = x.infinite | y.infinite
            plus |= infinite & ~negative
            minus |= infinite & negative
    d = np.where(plus, result.infinity, finite)
    minus_infinity = result.infinity - (1 << 63) if result.bits == 64 else 0
    if result.bits < 64:
        minus_infinity = result.infinity | (1 << (result.bits - 1))
    d = np.where(minus, minus_infinity if result.has_infinity else result.nan, d)
    return np.where(nan | (plus & minus), result.nan, d)
