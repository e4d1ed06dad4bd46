"""All that linear stencils cost, work of the CPU included (Theorem 8)."""

from __future__ import annotations

from ..cost import Cost
from .lengths import fast_length
from .number_cost import INTEGERS, REALS, NumberCost
from .stencils import planes_of, squarings
from .transform_cost import moved, multiplied, planes, together

__all__ = ["linear", "power", "stencil", "stencil_exact", "sweeps"]


def stencil(n: int, k: int, s: int, weak: bool = False) -> Cost:
    """``k`` sweeps over a grid of ``n`` x ``n`` real words."""
    return linear(n, n, k, s, weak, REALS)


def stencil_exact(n: int, k: int, primes: int, s: int, weak: bool = False) -> Cost:
    """The same on words of integers, modulo so many primes."""
    one = linear(n, n, k, s, weak, INTEGERS, fast_length(3 * k, s))
    found = together(n * n, primes)
    for _ in range(primes):
        found += one
    return found


def linear(
    rows: int,
    columns: int,
    k: int,
    s: int,
    weak: bool = False,
    number: NumberCost = REALS,
    order: int = 0,
) -> Cost:
    """A grid of (rows, columns): blocks are gathered, transformed, multiplied, and put back."""
    length, filled = fast_length(3 * k, s, order), planes_of(rows, columns, k, number)
    places = filled * length * length
    of_blocks = planes(filled, length, s, weak, number, order)
    of_weights = planes(1, length, s, weak, number, order)
    found = power(k, s, weak, number, order) + of_blocks + of_weights + of_blocks
    found += moved(places + length * length, number) + multiplied(places, number)
    cells = rows * columns
    return found + Cost(cpu_moves=cells, cpu_multiplies=cells * number.result_multiplies)


def power(
    k: int, s: int, weak: bool = False, number: NumberCost = REALS, order: int = 0
) -> Cost:  # fmt: skip
    """The weights of ``k`` sweeps: squares by transforms, products by nine sums."""
    found = Cost()
    for reached, product in squarings(k):
        length, side = fast_length(4 * reached + 1, s, order), 4 * reached + 1
        one = planes(1, length, s, weak, number, order)
        found += one + one
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
