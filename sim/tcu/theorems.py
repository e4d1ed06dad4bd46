"""Compares theorems of time with exact counts: exponents and constants over sweeps of sizes.

A theorem gives the order of the whole time; latency is left out here. Of the unit's time and of the
CPU's words each, an exponent is fitted to counts over a sweep, and so is the theorem's own over the
same sizes; the constant is the count at the largest size over the theorem's term.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .cost import Cost
from .formulas import (
    dense,
    elimination,
    graphs,
    integers,
    polynomials,
    sparse,
    stencils,
    transform,
)

# Theorem 12: what a lower bound on input and output says of time on a weak unit.
#
# A call of the weak unit is done by a memory of 3 m words that loads two blocks and stores one, so
# that a bound for such a memory holds for the time of the unit, up to a constant.

STANDARD_EXPONENT = 1.5
STRASSEN_EXPONENT = math.log(7, 4)


def product_bound(n: int, s: int, exponent: float = STANDARD_EXPONENT) -> float:
    """Words that a product of matrices of side ``n`` moves through a memory of 3 s^2 words.

    ``3 m (n^2 / (3 m))**exponent``, the paper's omega_0: ``n^3 / (sqrt(3) s)`` for algorithms that
    only add and multiply. Those of a smaller exponent (Ballard and others, "Graph expansion and
    communication costs of fast matrix multiplication") may do with less: Strassen's falls below
    the bound of the others from n = 32 s on. Leading terms: what is negligible for
    n^2 far above 3 m is left out.
    """
    memory = 3 * s * s
    return float(memory * (n * n / memory) ** exponent)


CELLS = 1 << 24
"""Side of the grid where sweeps are what grows."""
SWEEPS = 64
"""Number of sweeps where the side of the grid grows."""
POINTS = 4096
LINES = 1 << 16
"""Rows and columns of sparse matrices."""


class Theorem(NamedTuple):
    """An algorithm and its theorem's time.

    Parameters
    ----------
    theorem: its number
    term: in words, of sides of matrices, pieces, numbers, cells
    time: the same, from a size and the unit's side
    cost: what is counted, from these
    sizes: of the sweep, ascending, from the unit's side
    """

    theorem: str
    term: str
    time: Callable[[int, int], float]
    cost: Callable[[int, int], Cost]
    sizes: Callable[[int], Sequence[int]]


class Growth(NamedTuple):
    """Counts beside a term: both exponents over a sweep, and the constant at its end."""

    theorem: float
    fitted: float
    constant: float


def growth(sizes: Sequence[int], terms: Sequence[float], counts: Sequence[float]) -> Growth:
    """Compares the growth of counts with that of a theorem's terms."""
    return Growth(slope(sizes, terms), slope(sizes, counts), counts[-1] / terms[-1])


def slope(sizes: Sequence[int], counts: Sequence[float]) -> float:
    """The exponent: least squares of logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(count) for count in counts]
    middle, level = sum(x) / len(x), sum(y) / len(y)
    both = sum((one - middle) * (other - level) for one, other in zip(x, y, strict=True))
    return both / sum((one - middle) ** 2 for one in x)


def _powers(first: int, last: int) -> Callable[[int], Sequence[int]]:
    """Multiples 2^first to 2^last of the side."""
    return lambda s: [s << h for h in range(first, last + 1)]


def _product(n: int, s: int) -> float:
    return n**3 / s


def _product_and_strips(n: int, s: int) -> float:
    return n**3 / s + n * n * s


def _strassen(n: int, s: int) -> float:
    return float(s * s * (n / s) ** math.log2(7))


def _levels(n: int, s: int) -> float:
    return n**3 / s * math.log2(n)


def _transform(n: int, s: int) -> float:
    return n * math.log(n, s)


def _compressed(entries: int, s: int) -> float:
    return LINES * entries / s + _inputs(entries)


def _sparse(entries: int, s: int) -> Cost:
    return sparse.spmul(LINES, entries, _inputs(entries), s)


def _inputs(entries: int) -> int:
    """Entries of two matrices with as many entries in each row, none of whose products meet."""
    return 2 * math.isqrt(LINES * entries)


def _halves(n: int, s: int) -> float:
    return float((n / s**2) ** math.log2(3) * s**3)


THEOREMS = {
    "standard": Theorem("1", "n^3 / s", _product, dense.standard, _powers(6, 14)),
    "strassen": Theorem(
        "1", "m (n / s)^2.807", _strassen, dense.strassen, _powers(6, 14)
    ),
    "tall": Theorem("2", "n^3 / s", _product, dense.tall, _powers(6, 14)),
    "spmul": Theorem(
        "3", "n Z / s + I in Z, n = 2^16, I = 2 sqrt(n Z)", _compressed, _sparse,
        lambda s: [LINES << 2 * h for h in range(6)],
    ),
    "eliminate": Theorem(
        "4", "n^3 / s + n^2 s", _product_and_strips, elimination.eliminate, _powers(9, 15)
    ),
    "closure": Theorem(
        "5", "n^3 / s + n^2 s", _product_and_strips, graphs.closure, _powers(6, 14)
    ),
    "distances": Theorem(
        "6", "n^3 / s log2 n", _levels, lambda n, s: graphs.distances(n, n - 1, s),
        _powers(6, 14),
    ),
    "dft": Theorem(
        "7", "n log_s n", _transform, transform.dft, lambda s: [s**h for h in range(2, 8)]
    ),
    "dft_complex": Theorem(
        "7", "n log_s n", _transform, transform.dft_complex,
        lambda s: [s**h for h in range(2, 8)],
    ),
    "stencil": Theorem(
        "8", f"n^2 log_s k, k = {SWEEPS}", lambda n, s: n * n * math.log(SWEEPS, s),
        lambda n, s: stencils.stencil(n, SWEEPS, s), lambda s: [1 << h for h in range(10, 20)],
    ),
    "stencil, sweeps": Theorem(
        "8", "n^2 log_s k in k, n = 2^24", lambda k, s: CELLS**2 * math.log(k, s),
        lambda k, s: stencils.stencil(CELLS, k, s), lambda s: [1 << h for h in range(8, 21)],
    ),
    "schoolbook": Theorem(
        "9", "n^2 / s", lambda n, s: n * n / s, integers.schoolbook,
        lambda s: [s * s << h for h in range(4, 12)],
    ),
    "karatsuba": Theorem(
        "10", "(n / m)^1.585 m s", _halves, integers.karatsuba,
        lambda s: [s * s << h for h in range(4, 12)],
    ),
    "polyval": Theorem(
        "11", f"p d / s + p s in d, p = {POINTS:,}", lambda d, s: POINTS * d / s + POINTS * s,
        lambda d, s: polynomials.polyval(d, POINTS, s),
        lambda s: [s * s << h for h in range(4, 12)],
    ),
}  # fmt: skip
"""Theorems by algorithm. Theorem 10's base is that of the algorithm here, m pieces."""

BOUNDS = {
    "tall, weak": Theorem(
        "12", "n^3 / (sqrt(3) s)", product_bound,
        lambda n, s: dense.tall(n, s, weak=True), _powers(6, 14),
    ),
    "standard, weak": Theorem(
        "12", "n^3 / (sqrt(3) s)", product_bound,
        lambda n, s: dense.standard(n, s, weak=True), _powers(6, 14),
    ),
    "strassen, weak": Theorem(
        "12", "3 m (n / (sqrt(3) s))^2.807",
        lambda n, s: product_bound(n, s, STRASSEN_EXPONENT),
        lambda n, s: dense.strassen(n, s, weak=True), _powers(6, 14),
    ),
}  # fmt: skip
"""Time of a weak unit beside what a memory of 3 m words must move: constants are above 1."""
