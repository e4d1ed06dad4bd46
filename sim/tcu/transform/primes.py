"""Primes modulo which there are roots of unity, and the roots."""

from __future__ import annotations

from collections.abc import Iterator

from ..words import modular

__all__ = ["primes_with_roots", "root_of_unity"]


def primes_with_roots(order: int, most: int) -> Iterator[int]:
    """The primes of at most ``most`` that are 1 modulo ``order``, from the largest down."""
    for candidate in range((most - 1) // order * order + 1, 2, -order):
        if modular(candidate).divides:
            yield candidate


def root_of_unity(n: int, prime: int) -> int:
    """A number whose powers modulo ``prime`` come back to 1 after ``n``, and not before.

    ``n`` must divide ``prime - 1``.
    """
    parts = [n // q for q in _prime_factors(n)]
    roots = (pow(base, (prime - 1) // n, prime) for base in range(1, prime))
    return next(root for root in roots if all(pow(root, part, prime) != 1 for part in parts))


def _prime_factors(n: int) -> list[int]:
    found = []
    divisor = 2
    while divisor * divisor <= n:
        if n % divisor == 0:
            found.append(divisor)
        while n % divisor == 0:
            n //= divisor
        divisor += 1
    return [*found, n] if n > 1 else found
