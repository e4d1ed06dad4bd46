"""Numbers that are transformed, on the words of a unit, and work of the CPU on them, charged."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..formulas.number_cost import NumberCost
from ..tensor_unit import TensorUnit
from ..words import Array

__all__ = ["Ring", "add", "moved", "multiply"]


class Ring(Protocol):
    """Numbers with roots of unity.

    Members
    -------
    name: for messages
    dtype: of arrays of numbers
    cost: what a number and its operators are made of
    order: of roots there are divides it; 0 if there are roots of any order
    """

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def cost(self) -> NumberCost: ...
    @property
    def order(self) -> int: ...

    def array(self, x: npt.ArrayLike) -> Array:
        """``x`` as numbers. Raises TypeError and ValueError for what are none."""
        ...

    def plain(self, x: Array) -> Array:
        """Numbers as single words: the real parts of complex ones, on a unit of real words."""
        ...

    def packed(self, x: Array) -> Array:
        """Planes of words as planes of numbers: two to one, as parts, on a unit of real words."""
        ...

    def unpacked(self, x: Array, count: int) -> Array:
        """The first ``count`` planes of words that those of numbers hold, after anything linear
        with real coefficients."""
        ...

    def roots(self, n: int, exponents: Array, divisor: int = 1) -> Array:
        """``w**exponents / divisor`` where w is the root of order ``n``: ``exp(-2 pi i / n)``."""
        ...

    def product(self, unit: TensorUnit, a: Array, b: Array) -> Array:
        """``a b`` by the unit, (rows, s) by (s, s); what the CPU does for it is not charged."""
        ...

    def multiply(self, x: Array, y: Array) -> Array:
        """``x y``, element by element."""
        ...

    def add(self, x: Array, y: Array) -> Array:
        """``x + y``, element by element."""
        ...


def add(unit: TensorUnit, ring: Ring, x: Array, y: Array) -> Array:
    """``x + y``, charged."""
    found, cost = ring.add(x, y), ring.cost
    unit.cpu(adds=found.size * cost.sum_adds, multiplies=found.size * cost.sum_multiplies)
    return found


def multiply(unit: TensorUnit, ring: Ring, x: Array, y: Array) -> Array:
    """``x y``, element by element, charged."""
    found, cost = ring.multiply(x, y), ring.cost
    unit.cpu(adds=found.size * cost.product_adds, multiplies=found.size * cost.product_multiplies)
    return found


def moved(unit: TensorUnit, ring: Ring, x: Array) -> Array:
    """``x`` in the order of its axes in memory, a copy: moves of its words."""
    unit.cpu(moves=x.size * ring.cost.words)
    return np.array(x, order="C")
