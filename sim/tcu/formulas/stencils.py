"""Calls and rows of linear stencils (Theorem 8)."""

from __future__ import annotations

from collections.abc import Iterator

from ..cost import UnitWork
from .lengths import fast_length
from .number_cost import INTEGERS, REALS, NumberCost
from .transform import planes

__all__ = ["blocks_of", "linear", "planes_of", "power", "squarings", "stencil", "stencil_exact"]


def stencil(n: int, k: int, s: int, weak: bool = False) -> UnitWork:
    """``k`` sweeps over a grid of ``n`` x ``n`` real words."""
    return linear(n, n, k, s, weak, REALS)


def stencil_exact(n: int, k: int, primes: int, s: int, weak: bool = False) -> UnitWork:
    """The same on words of integers, modulo so many primes."""
    return linear(n, n, k, s, weak, INTEGERS, fast_length(3 * k, s)) * primes


def linear(
    rows: int,
    columns: int,
    k: int,
    s: int,
    weak: bool = False,
    number: NumberCost = REALS,
    order: int = 0,
) -> UnitWork:
    """A grid of (rows, columns): transforms of all blocks, there and back, one of the weights of
    ``k`` sweeps, and what those take.

    order: that the orders of roots divide; 0 if there are roots of any
    """
    length, filled = fast_length(3 * k, s, order), planes_of(rows, columns, k, number)
    of_blocks = planes(filled, length, s, weak, number, order)
    of_weights = planes(1, length, s, weak, number, order)
    return of_blocks * 2 + of_weights + power(k, s, weak, number, order)


def power(
    k: int, s: int, weak: bool = False, number: NumberCost = REALS, order: int = 0
) -> UnitWork:  # fmt: skip
    """The weights of ``k`` sweeps: a transform there and one back for each square."""
    found = UnitWork()
    for reached, _ in squarings(k):
        length = fast_length(4 * reached + 1, s, order)
        found += planes(1, length, s, weak, number, order) * 2
    return found


def squarings(k: int) -> Iterator[tuple[int, bool]]:
    """The powers that are squared on the way to the k-th, and whether a product follows."""
    reached = 1
    for bit in f"{k:b}"[1:]:
        yield reached, bit == "1"
        reached = 2 * reached + (bit == "1")


def planes_of(rows: int, columns: int, k: int, number: NumberCost) -> int:
    """Planes of numbers that blocks fill: a word of a number each, so two on real words."""
    return -(-blocks_of(rows, columns, k) // number.words)


def blocks_of(rows: int, columns: int, k: int) -> int:
    """Blocks of k x k that cover a grid."""
    return -(-rows // k) * -(-columns // k)
