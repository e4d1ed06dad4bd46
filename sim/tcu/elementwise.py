"""Work of the CPU on words, charged as it is done: a word of the result is one operation."""

from __future__ import annotations

from .tensor_unit import TensorUnit
from .words import Array

__all__ = ["add", "divide", "multiply", "subtract"]


def add(unit: TensorUnit, x: Array, y: Array) -> Array:
    """``x (+) y``: an add a word."""
    found = unit.words.add(x, y)
    unit.cpu(adds=found.size)
    return found


def subtract(unit: TensorUnit, x: Array, y: Array) -> Array:
    """``x - y``: an add a word."""
    found = unit.words.subtract(x, y)
    unit.cpu(adds=found.size)
    return found


def multiply(unit: TensorUnit, x: Array, y: Array) -> Array:
    """``x (x) y``, element by element: a multiply a word."""
    found = unit.words.multiply(x, y)
    unit.cpu(multiplies=found.size)
    return found


def divide(unit: TensorUnit, x: Array, y: Array) -> Array:
    """``x / y``, element by element: a multiply a word."""
    found = unit.words.divide(x, y)
    unit.cpu(multiplies=found.size)
    return found
