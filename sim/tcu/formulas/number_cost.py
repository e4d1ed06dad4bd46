"""Costs of numbers of several words: complex ones of real words, residues of integers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COMPLEX_WORDS", "INTEGERS", "REALS", "RESIDUES", "NumberCost"]


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
