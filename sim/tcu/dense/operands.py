"""Checks the operands of dense products before anything runs."""

from __future__ import annotations

from ..tensor_unit import TensorUnit
from ..words import Array

__all__ = ["product_operands", "square_operands"]


def product_operands(unit: TensorUnit, a: Array, b: Array) -> tuple[Array, Array]:
    """``a`` and ``b`` as words: matrices (n, k) and (k, p), none of the three 0.

    Raises TypeError for what are no words of the unit, ValueError for other shapes.
    """
    left, right = unit.words.array(a), unit.words.array(b)
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        raise ValueError(
            "`a` and `b` must be matrices (n, k) and (k, p), not of shapes "
            f"{left.shape} and {right.shape}"
        )
    if not left.size or not right.size:
        raise ValueError(
            f"`a` and `b` must not be empty, as of shapes {left.shape} and {right.shape}"
        )
    return left, right


def square_operands(unit: TensorUnit, a: Array, b: Array) -> tuple[Array, Array]:
    """Checks the operands of a product of square matrices."""
    left, right = product_operands(unit, a, b)
    if not left.shape == right.shape == (left.shape[0],) * 2:
        raise ValueError(
            f"`a` and `b` must be square, not of shapes {left.shape} and {right.shape}"
        )
    return left, right
