"""The arithmetic of an element: sums of products over lanes, as a semiring matrix unit has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..config import IntRange, like, parameter
from ..formats import FloatFormat, Format
from ..simd2 import Simd2Config

# Functions of one word, before and after sums.
#
# `relu` is the greater of a word and 0, by the rules of semirings' max: of -0 it is +0. NaN stays
# NaN, the canonical one. In formats of integers `negate` and `absolute` wrap around: the lowest
# number has no opposite, and stays.

FUNCTIONS: Mapping[str, Mapping[str, str]] = {
    "absolute": {"0": "0", "+inf": "+inf"},
    "negate": {"0": "0", "+inf": "-inf", "-inf": "+inf"},
    "relu": {"0": "0", "+inf": "+inf"},
}
"""Pad words of each function: for a word that the function returns, the word that it is applied
to."""


def padded_before(functions: Iterable[str], pad: str) -> str | None:
    """Returns the word that the functions, applied in order, convert to ``pad``; None if none
    exists."""
    word: str | None = pad
    for name in reversed(list(functions)):
        word = FUNCTIONS[name].get(word) if word else None
    return word


def function_of(name: str, pattern: int, fmt: Format) -> int:
    """Applies a function to a pattern of ``fmt.bits`` bits."""
    top, mask = 1 << (fmt.bits - 1), (1 << fmt.bits) - 1
    if isinstance(fmt, FloatFormat):
        if pattern & (mask >> 1) > fmt.largest + fmt.has_infinity:
            return fmt.nan
        opposite = pattern ^ top
    else:
        opposite = -pattern & mask
    if name == "negate":
        return opposite
    if not pattern & top:
        return pattern
    return {"absolute": opposite, "relu": 0}[name]


def pad_pattern(functions: Iterable[str], pad: str, fmt: Format) -> int:
    """Pattern that pads a tensor's tiles before its functions: they make of it what they make of
    "0", "+inf" or "-inf" (of zeros perhaps the other one).

    In a format of integers infinities are the ends of the range, which are no opposites.
    """
    after, names = pad, list(functions)
    for name in names:
        after = FUNCTIONS[name].get(after, after)
    pattern = fmt.constant(after)
    assert pattern is not None
    for name in reversed(names):
        if name == "negate":
            pattern = function_of(name, pattern, fmt)
    return pattern


@dataclass(frozen=True)
class WordFunctions:
    """Functions that words of a format go through, the first one first."""

    names: tuple[str, ...]
    fmt: Format

    def of(self, pattern: int) -> int:
        """Applies the functions to a pattern, one after another."""
        for name in self.names:
            pattern = function_of(name, pattern, self.fmt)
        return pattern


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
    pipeline: int = like(Simd2Config, "pipeline", default=4)

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
