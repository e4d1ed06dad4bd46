"""Costs of transforms (Theorem 7)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from ..cost import Cost
from ..tensor_unit import multiple
from .streaming import stream

_MANY_FACTORS = 32
"""Side above which one of a few consecutive numbers has no larger prime factor."""


def radices(n: int, s: int) -> tuple[int, ...] | None:
    """Factors of ``n`` of at most ``s``, each the largest that divides what is left, so that of
    any two the product is above ``s``; ``s`` each if n is a power of it. None of 1, None (the
    object) if a prime factor of ``n`` is above ``s``.
    """
    found = []
    while n > 1:
        factor = next((f for f in range(min(s, n), 1, -1) if n % f == 0), None)
        if factor is None:
            return None
        found.append(factor)
        n //= factor
    return tuple(found)


def fast_length(least: int, s: int, order: int = 0) -> int:
    """The least length from ``least`` whose prime factors are at most ``s`` and that divides
    ``order``, the number that the orders of roots divide; 0 where there are roots of any.

    Raises ValueError if there is none.
    """
    if not order:
        if s > _MANY_FACTORS:
            return next(n for n in count(least) if radices(n, s) is not None)
        return _least_product(least, s)
    lengths = [n for n in _smooth_divisors(order, s) if n >= least]
    if not lengths:
        raise ValueError(
            f"roots must be of an order of {least} or more, with factors of at most {s}, which "
            f"does not divide {order}"
        )
    return min(lengths)


def chirp_length(n: int, s: int, order: int = 0) -> int:
    """The length of the convolution by which Bluestein transforms ``n`` numbers: 2 n - 1 or
    more."""
    return fast_length(2 * n - 1, s, order)


def _least_product(least: int, s: int) -> int:
    """Finds the least product of at least ``least`` of primes up to ``s``. It tries products of odd
    primes, each completed by a power of two."""
    best = 1 << (least - 1).bit_length()
    odd = [1]
    for prime in range(3, s + 1, 2):
        if all(prime % factor for factor in range(3, prime, 2)):
            found = []
            for product in odd:
                while product <= best:
                    found.append(product)
                    product *= prime
            odd = found
            best = min(best, *(n << (-(-least // n) - 1).bit_length() for n in odd))
    return best


def _smooth_divisors(order: int, s: int) -> list[int]:
    found = [1]
    for prime in range(2, s + 1):
        powers = [1]
        while order % prime == 0:
            order //= prime
            powers.append(powers[-1] * prime)
        found = [n * power for n in found for power in powers]
    return found


def smooth_part(order: int, s: int) -> int:
    """The largest divisor of ``order`` that has no prime factor above ``s``."""
    return max(_smooth_divisors(order, s))


@dataclass(frozen=True, kw_only=True)
class NumberCost:
    """Words of a number, and the cost of the operators on it.

    Parameters
    ----------
    words: of a number
    calls: of the unit for a product of matrices of numbers
    result_adds, result_multiplies: of the CPU for each number that a call gives
    sum_adds, sum_multiplies: of the CPU for a sum of two numbers
    product_adds, product_multiplies: of the CPU for a product of two numbers
    """

    words: int = 1
    calls: int = 1
    result_adds: int = 0
    result_multiplies: int = 0
    sum_adds: int = 1
    sum_multiplies: int = 0
    product_adds: int = 0
    product_multiplies: int = 1


COMPLEX_WORDS = NumberCost()
"""Complex numbers on a unit of complex words."""

REALS = NumberCost(words=2, calls=4, result_adds=2, sum_adds=2, product_adds=2,
                   product_multiplies=4)  # fmt: skip
"""Complex numbers on a unit of real words: four calls and two sums (section 3.5 of the paper)."""

RESIDUES = NumberCost()
"""Residues on a unit that reduces what it gives."""

INTEGERS = NumberCost(result_multiplies=1, sum_multiplies=1, product_multiplies=2)
"""Residues on a unit of integers: the CPU reduces, a division each."""


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
