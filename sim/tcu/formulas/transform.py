"""Costs of transforms (Theorem 7)."""

from __future__ import annotations

from ..blocks import multiple
from ..cost import Cost
from .lengths import chirp_length, radices
from .number_cost import COMPLEX_WORDS, REALS, RESIDUES, NumberCost
from .streaming import stream

__all__ = [
    "dft", "dft_complex", "level_rows", "moved", "multiplied", "ntt", "planes", "together",
    "transforms",
]  # fmt: skip


def dft(n: int, s: int, weak: bool = False) -> Cost:
    """A signal of ``n`` numbers on real words. Where n = s^h, h > 1: 4 h calls of n / s rows, time
    4 (n + l) h; ``n (8 h - 2)`` words: two sums a level, six operations a twiddle factor, and two
    moves of all."""
    return transforms(1, n, s, weak, REALS)


def dft_complex(n: int, s: int, weak: bool = False) -> Cost:
    """Cost of a transform on complex words: h calls, ``n (h + 1)`` words."""
    return transforms(1, n, s, weak, COMPLEX_WORDS)


def ntt(n: int, s: int, weak: bool = False) -> Cost:
    """A signal of ``n`` residues modulo a prime with roots of all orders that are wanted."""
    return transforms(1, n, s, weak, RESIDUES)


def transforms(
    count: int,
    n: int,
    s: int,
    weak: bool = False,
    number: NumberCost = REALS,
    order: int = 0,
) -> Cost:
    """``count`` signals of ``n`` numbers each, all in the same calls.

    order: that the orders of roots divide; 0 if there are roots of any
    """
    factors = radices(n, s)
    if factors is None:
        return _by_a_chirp(count, n, s, weak, number, order)
    found = Cost()
    for factor in factors:
        found += _level(count * n, factor, s, weak, number)
    between = max(0, len(factors) - 1) * count * n
    return found + multiplied(between, number) + moved(2 * count * n * (between > 0), number)


def level_rows(numbers: int, factor: int, s: int) -> int:
    """Rows that a level of ``factor`` streams: as many transforms in a row as fit."""
    return multiple(numbers // factor, s // factor) // (s // factor)


def planes(
    count: int, n: int, s: int, weak: bool = False, number: NumberCost = REALS, order: int = 0
) -> Cost:
    """Transforms in two dimensions of ``count`` planes of (n, n) numbers, turned in between."""
    one = transforms(count * n, n, s, weak, number, order)
    return one * 2 + moved(count * n * n, number)


def multiplied(numbers: int, number: NumberCost) -> Cost:
    """Cost of so many products of two numbers."""
    return Cost(
        cpu_adds=numbers * number.product_adds, cpu_multiplies=numbers * number.product_multiplies
    )


def moved(numbers: int, number: NumberCost) -> Cost:
    """Cost of moving so many numbers."""
    return Cost(cpu_moves=numbers * number.words)


def _level(numbers: int, factor: int, s: int, weak: bool, number: NumberCost) -> Cost:
    """A level: its calls; padding, if any, and sums or remainders of what comes, by the CPU."""
    one = stream(level_rows(numbers, factor, s), s, weak)
    high = one.rows
    padded = high * s != numbers
    return Cost(
        one.calls * number.calls,
        one.rows * number.calls,
        cpu_adds=high * s * number.result_adds,
        cpu_multiplies=high * s * number.result_multiplies,
        cpu_moves=high * s * number.words * padded,
    )


def _by_a_chirp(
    count: int, n: int, s: int, weak: bool, number: NumberCost, order: int
) -> Cost:  # fmt: skip
    length = chirp_length(n, s, order)
    one = transforms(count, length, s, weak, number)
    products = multiplied(count * (2 * n + length), number)
    found = one * 2 + transforms(1, length, s, weak, number)
    return found + products + moved(count * (length - n), number)


def together(numbers: int, primes: int) -> Cost:
    """Cost of so many integers from their residues modulo so many primes."""
    pairs, more = primes * (primes - 1) // 2, primes - 1
    return Cost(cpu_adds=numbers * (pairs + more + 1), cpu_multiplies=numbers * (2 * pairs + more))
