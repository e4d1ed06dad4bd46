"""Lengths of transforms: their factors, none above the unit's side, and lengths that have such."""

from __future__ import annotations

from itertools import count

__all__ = ["chirp_length", "fast_length", "radices", "smooth_part"]


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
