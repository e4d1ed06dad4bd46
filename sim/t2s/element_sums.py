"""Computes the sums of an element on words, many at once: patterns in, patterns out.

The order and the rounding are the hardware's: an operation is one fused sum over lanes, or one of
the product of what is factored out with such a sum. The numerics are the project's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import Format
from ...hw.spec.t2s.arithmetic import LaneSum
from ..numbers.semiring_sums import semiring_sum
from ..numbers.values import decode, encode

__all__ = ["ElementSums"]

Words = npt.NDArray[np.uint64]

_NEUTRAL = {"mul": "1", "and": "1", "add": "-0", "min": "+inf", "max": "-inf"}
"""Word with which (x) leaves the other word unchanged."""


class ElementSums:
    """The arithmetic of an element.

    Parameters
    ----------
    arithmetic: its lanes, semiring and formats

    Members
    -------
    identity: pattern of the sum of nothing
    """

    def __init__(self, arithmetic: LaneSum) -> None:
        self._inner, self._of_sums = arithmetic, arithmetic.of_sums()
        row = arithmetic.semirings[0]
        identity = row.identity_in(arithmetic.result)
        neutral = arithmetic.element.constant(_NEUTRAL.get(row.times, "1"))
        assert identity is not None
        assert neutral is not None
        self.identity, self._neutral = identity, neutral

    @property
    def arithmetic(self) -> LaneSum:
        return self._inner

    def inner(self, factors: Sequence[Words], total: Words) -> Words:
        """``total (+) (+) over lanes of the product``.

        Parameters
        ----------
        factors: one to three operands, (lanes, sums...); a word of one lane goes to all. Of three,
            the product of the first two is rounded to the format of sums
        total: (sums...)

        Raises ValueError for more operands.
        """
        if len(factors) > 3:
            raise ValueError(f"a product in each lane must be of 1 to 3, not {len(factors)}")
        if len(factors) == 3:
            return self._of_three(factors, total)
        a = factors[0]
        b = factors[1] if len(factors) == 2 else np.full(a.shape, self._neutral, np.uint64)
        return _sum(self._inner, a, b, total)

    def outer(self, factors: Sequence[Words], inner: Words, total: Words) -> Words:
        """``total (+) factors (x) inner``: factors first, each product rounded; all (sums...).

        ``factors`` are words of operands, ``inner`` is a sum.
        """
        first, *others = (self._widened(one) for one in factors)
        nothing = np.full(total.shape, self.identity, np.uint64)
        for other in others:
            first = _sum(self._of_sums, first[np.newaxis], other[np.newaxis], nothing)
        return _sum(self._of_sums, first[np.newaxis], inner[np.newaxis], total)

    def _of_three(self, factors: Sequence[Words], total: Words) -> Words:
        first, second, third = factors
        lanes = max(len(first), len(second))
        nothing = np.full((lanes, *total.shape), self.identity, np.uint64)
        a, b = (np.broadcast_to(one, nothing.shape)[np.newaxis] for one in (first, second))
        products = _sum(self._inner, a, b, nothing)
        config = self._inner.of_products()
        # Integers that have fewer bits than sums have.
        products = products & np.uint64((1 << config.element.bits) - 1)
        return _sum(config, products, self._widened(third, config.element), total)

    def _widened(self, words: Words, wide: Format | None = None) -> Words:
        """Words in a format that has all their values: of sums, if no other is given."""
        return encode(decode(words, self._inner.element), wide or self._inner.result)


def _sum(config: LaneSum, a: Words, b: Words, total: Words) -> Words:
    lanes = max(len(a), len(b))
    return semiring_sum(
        config.semirings[0],
        np.broadcast_to(a, (lanes, *total.shape)),
        np.broadcast_to(b, (lanes, *total.shape)),
        total,
        element=config.element,
        result=config.result,
        alignment_bits=config.window_bits,
    )
