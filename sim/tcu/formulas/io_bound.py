"""Theorem 12: what a lower bound on input and output says of time on a weak unit.

A call of the weak unit is done by a memory of 3 m words that loads two blocks and stores one, so
that a bound for such a memory holds for the time of the unit, up to a constant.
"""

from __future__ import annotations

import math

__all__ = ["STANDARD_EXPONENT", "STRASSEN_EXPONENT", "product_bound"]

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
