"""Costs of linear stencils (Theorem 8)."""

from __future__ import annotations

from collections.abc import Iterator

from ..cost import Cost
from .transform import INTEGERS, REALS, NumberCost, fast_length, moved, multiplied, planes, together

__all__ = [
    "blocks_of", "linear", "planes_of", "power", "squarings", "stencil", "stencil_exact", "sweeps",
]  # fmt: skip


def stencil(n: int, k: int, s: int, weak: bool = False) -> Cost:
    """Cost of ``k`` sweeps over a grid of ``n`` x ``n`` real words."""
    return linear(n, n, k, s, weak, REALS)


def stencil_exact(n: int, k: int, primes: int, s: int, weak: bool = False) -> Cost:
    """Cost of the sweeps on words of integers, modulo so many primes."""
    one = linear(n, n, k, s, weak, INTEGERS, fast_length(3 * k, s))
    return one * primes + together(n * n, primes)


def linear(
    rows: int,
    columns: int,
    k: int,
    s: int,
    weak: bool = False,
    number: NumberCost = REALS,
    order: int = 0,
) -> Cost:
    """A grid of (rows, columns): transforms of all blocks, there and back, one of the weights of
    ``k`` sweeps, and what those take; blocks are gathered, multiplied, and put back.

    order: that the orders of roots divide; 0 if there are roots of any
    """
    length, filled = fast_length(3 * k, s, order), planes_of(rows, columns, k, number)
    places = filled * length * length
    of_blocks = planes(filled, length, s, weak, number, order)
    of_weights = planes(1, length, s, weak, number, order)
    found = power(k, s, weak, number, order) + of_blocks * 2 + of_weights
    found += moved(places + length * length, number) + multiplied(places, number)
    cells = rows * columns
    return found + Cost(cpu_moves=cells, cpu_multiplies=cells * number.result_multiplies)


def power(
    k: int, s: int, weak: bool = False, number: NumberCost = REALS, order: int = 0
) -> Cost:  # fmt: skip
    """The weights of ``k`` sweeps: squares by a transform there and one back, products by nine
    sums."""
    found = Cost()
    for reached, product in squarings(k):
        length, side = fast_length(4 * reached + 1, s, order), 4 * reached + 1
        found += planes(1, length, s, weak, number, order) * 2
        found += moved(length * length, number) + multiplied(length * length, number)
        if product:
            terms = 9 * side * side
            found += moved((side + 2) ** 2, number) + multiplied(terms, number)
            found += Cost(
                cpu_adds=terms * number.sum_adds, cpu_multiplies=terms * number.sum_multiplies
            )
    return found


def sweeps(n: int, k: int) -> Cost:
    """``k`` direct sweeps over a grid of ``n`` x ``n`` words by the CPU, nine products a cell."""
    return Cost(cpu_adds=8 * n * n * k, cpu_multiplies=9 * n * n * k)


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
