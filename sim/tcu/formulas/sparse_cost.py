"""All that output-sensitive products of sparse matrices cost, work of the CPU included (Theorem
3)."""

from __future__ import annotations

from ..cost import Cost
from . import dense_cost
from .sparse import Sizes, products_of, sizes_of

__all__ = ["check", "exact_round", "spmul", "value_round"]


def exact_round(
    n: int, k: int, p: int, entries: int, s: int, weak: bool = False, *,
    left: int, right: int, known: int, summing: int, peeled: int,
    scheme: tuple[int, int, int] | None = None,
) -> Cost:  # fmt: skip
    """A round for ``entries`` of (n, k) by (k, p), by tall calls.

    Parameters
    ----------
    left, right: entries of the operands
    known: entries of the result, before
    summing: buckets whose values do not sum to zero
    peeled: entries that it finds
    scheme: products, additions and side of a Strassen-like algorithm
    """
    b, sizes = sizes_of(n, k, p, entries, s, weak, scheme[2] if scheme else 0)
    rows, columns = min(b, n), min(b, p)
    products = products_of(n, p, b)
    lines, wide_lines = 1 + (rows < n), 1 + (columns < p)
    found = _drawn(n, p, b)
    found += Cost(
        cpu_adds=left * lines + right * wide_lines,
        cpu_multiplies=left * (lines - 1) + right * (wide_lines - 1),
        cpu_moves=sizes.inner * (sizes.high * lines + sizes.wide * wide_lines),
    )
    for _ in range(products):
        found += _product(sizes, s, weak, scheme)
    found += Cost(cpu_adds=products * known, cpu_multiplies=(products - 1) * known)
    found += Cost(cpu_adds=products * rows * columns)
    found += Cost(cpu_adds=3 * (products - 1) * summing, cpu_multiplies=(products - 1) * summing)
    return found + Cost(cpu_adds=peeled, cpu_moves=3 * peeled)


def check(
    n: int, k: int, p: int, entries: int, vectors: int = 2, fields: int = 1, reduced: bool = False
) -> Cost:
    """Freivalds' check of (n, k) by (k, p): ``entries`` of all three; ``vectors`` modulo each of
    ``fields``, to which integers are ``reduced``."""
    a_vector = Cost(cpu_adds=entries + n, cpu_multiplies=entries, cpu_moves=p + k + 2 * n)
    found = Cost(cpu_multiplies=0 if reduced else entries * fields)
    for _ in range(vectors * fields):
        found += a_vector
    return found


def value_round(
    n: int, k: int, p: int, entries: int, s: int, weak: bool = False,
    left: int = 0, right: int = 0, structure: int = 0,
) -> Cost:  # fmt: skip
    """A product of floats for ``entries``, where so many of the ``structure`` are known."""
    b, sizes = sizes_of(n, k, p, entries, s, weak)
    found = _drawn(n, p, b) + _product(sizes, s, weak, None)
    moves = sizes.inner * (sizes.high + sizes.wide) + left + right
    moves += min(b, n) * min(b, p) + structure
    return found + Cost(cpu_adds=structure, cpu_moves=moves)


def spmul(n: int, entries: int, inputs: int, s: int, weak: bool = False) -> Cost:
    """Matrices of side ``n`` and so many ``inputs`` in both, in one round for ``entries``, which
    are the result's and all alone in their buckets: checks before and behind it included."""
    half = inputs // 2
    found = exact_round(
        n, n, n, entries, s, weak, left=inputs - half, right=half, known=0, summing=entries,
        peeled=entries,
    )  # fmt: skip
    return check(n, n, n, inputs) + found + check(n, n, n, inputs + entries)


def _drawn(n: int, p: int, b: int) -> Cost:
    return Cost(cpu_moves=n * (b < n) + p * (b < p))


def _product(sizes: Sizes, s: int, weak: bool, scheme: tuple[int, int, int] | None) -> Cost:
    high, inner, wide = sizes
    if scheme is None:
        return dense_cost.rectangular(high, inner, wide, s, weak)
    products, additions, side = scheme
    blocks = inner // high
    found = Cost(cpu_adds=(blocks - 1) * high * high)
    for _ in range(blocks):
        found += dense_cost.recursive(high, s, products, additions, side)
    return found
