"""Computes the cost of a product by the formulas, from the records of its rounds."""

from __future__ import annotations

from typing import Any

from tilewright.sim.tcu import Cost, UnitWork
from tilewright.sim.tcu.formulas import sparse as costs
from tilewright.sim.tcu.sparse.output_sensitive import SparseProduct

STRASSEN = (7, 15, 2)


def cost_of(
    found: SparseProduct,
    a: Any,
    b: Any,
    s: int,
    weak: bool = False,
    *,
    scheme: tuple[int, int, int] | None = None,
    modulus: int | None = None,
) -> Cost:
    """Computes the cost for SciPy operands without stored zeros."""
    (n, k), p = a.shape, b.shape[1]
    inputs = a.nnz + b.nnz
    vectors, reduced = 2, modulus is not None
    if modulus is not None:
        vectors = next(count for count in range(1, 61) if modulus**count >= 1 << 60)
    total = costs.check(n, k, p, inputs, vectors, found.fields, reduced)
    for one in found.rounds:
        total += costs.exact_round(
            n, k, p, one.entries, s, weak, left=a.nnz, right=b.nnz, known=one.known,
            summing=one.summing, peeled=one.peeled, scheme=scheme,
        )  # fmt: skip
        total += costs.check(n, k, p, inputs + one.kept, vectors, found.fields, reduced)
    for value in found.value_rounds:
        total += costs.value_round(n, k, p, value.entries, s, weak, a.nnz, b.nnz, len(found.result))
    return total + Cost(cpu_adds=2 * found.terms, cpu_multiplies=found.terms)


def work_of(found: SparseProduct, n: int, k: int, p: int, s: int, weak: bool = False) -> UnitWork:
    """Calls and rows of exact rounds, by tall calls."""
    total = UnitWork()
    for one in found.rounds:
        total += costs.round_of(n, k, p, one.entries, s, weak)
    return total
