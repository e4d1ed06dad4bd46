"""The arithmetic of an element: sums of products over lanes, as a semiring matrix unit has it."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import IntRange, parameter
from ..formats import Format
from ..simd2 import Simd2Config

__all__ = ["LaneSum"]

_OF_PRODUCTS = {"int8": "int16", "int16": "int32"}
"""Formats that have all products of two words."""


@dataclass(frozen=True, kw_only=True)
class LaneSum(Simd2Config):
    """Sum ``sum (+) (+) over lanes of a (x) b``, in one semiring: an element of a matrix unit.

    A sum of products of floats is exact within its window and rounded once; every other (+) is
    exact and its products are rounded once, see :class:`Simd2Config`, of which ``tile`` does not
    matter here.
    """

    lanes: int = parameter(4, allowed=IntRange(1, 64), doc="products of a sum")

    @property
    def semiring(self) -> str:
        """Name of (+) and (x)."""
        return self.ops[0]

    @property
    def depth(self) -> int:
        return self.lanes

    @property
    def b_depth(self) -> int:
        return self.lanes

    @property
    def word(self) -> Format:
        """Format of operands' words."""
        return self.element

    def of_products(self) -> LaneSum:
        """The same for products of two words, each times a word more: both of a format that has all
        products of integers, else of that of sums, to which products of floats are rounded."""
        return LaneSum(
            ops=self.ops,
            format=_OF_PRODUCTS.get(self.element.name, self.result.name),
            accumulator=self.result.name,
            pipeline=self.pipeline,
            lanes=self.lanes,
        )

    def of_sums(self) -> LaneSum:
        """The same for one product of a word and a sum over lanes: both of the sums' format."""
        return LaneSum(
            ops=self.ops,
            format=self.result.name,
            accumulator=self.result.name,
            pipeline=self.pipeline,
            lanes=1,
        )
