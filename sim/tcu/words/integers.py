"""Signed integers of a word, without wrap-around: a result that does not fit is an error."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .kind import Array, cannot, need_matrices

_FLOAT64_HOLDS = 1 << 53
_INT64_HOLDS = 1 << 63


def largest(x: Array) -> int:
    """The largest magnitude in an array of integers; 0 of none."""
    given = np.asarray(x)
    return max(abs(int(given.max())), abs(int(given.min()))) if given.size else 0


def exact_product(a: Array, b: Array) -> Array:
    """The product of matrices of int64: int64, or Python's integers (dtype object) if it might
    not fit.

    Bounds are of the sums of magnitudes, which no partial sum exceeds in any order.
    """
    bound = largest(a) * largest(b) * a.shape[1]
    if bound < _FLOAT64_HOLDS:
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    if bound < _INT64_HOLDS:
        return np.asarray(a @ b)
    return np.asarray(a.astype(object) @ b.astype(object))


class KeptInInt64:
    """The part of :class:`Words` that words kept in int64 share."""

    subtracts: ClassVar[bool] = True
    exact: ClassVar[bool] = True

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64)

    @property
    def zero(self) -> Any:
        return np.int64(0)

    @property
    def one(self) -> Any:
        return np.int64(1)


class WordOverflow(ValueError):
    """A result that a word does not hold.

    Members
    -------
    needed: bits of a signed word that would hold it
    bits: bits of the words there are
    """

    def __init__(self, needed: int, bits: int) -> None:
        super().__init__(f"words must have {needed} bits to hold the result, not {bits}")
        self.needed, self.bits = needed, bits


@dataclass(frozen=True)
class Integers(KeptInInt64):
    """Signed integers of ``bits`` bits, kept in int64."""

    bits: int

    def __post_init__(self) -> None:
        if isinstance(self.bits, bool) or not isinstance(self.bits, int):
            raise TypeError(f"`bits` must be an integer, not {type(self.bits).__name__}")
        if not 2 <= self.bits <= 64:
            raise ValueError(f"`bits` must be in 2..64, not {self.bits}")

    @property
    def kind(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return f"int{self.bits}"

    @property
    def divides(self) -> bool:
        return False

    def array(self, x: npt.ArrayLike) -> Array:
        """Does as :meth:`Words.array` for integers, Python's of any size included, and booleans."""
        given = np.asarray(x)
        if given.dtype.kind == "O" and all(isinstance(n, int | np.integer) for n in given.flat):
            return self._held(np.vectorize(int, otypes=[object])(given) if given.size else given)
        if given.dtype.kind not in "biu":
            raise TypeError(f"words of {self.name} must be integers, not {given.dtype}")
        return self._held(given)

    def add(self, x: Array, y: Array) -> Array:
        return self._apply(operator.add, x, y, largest(x) + largest(y))

    def subtract(self, x: Array, y: Array) -> Array:
        return self._apply(operator.sub, x, y, largest(x) + largest(y))

    def multiply(self, x: Array, y: Array) -> Array:
        return self._apply(operator.mul, x, y, largest(x) * largest(y))

    def divide(self, x: Array, y: Array) -> Array:
        raise cannot(self, "divided")

    def product(self, a: Array, b: Array) -> Array:
        need_matrices(a, b)
        return self._held(exact_product(a, b))

    def _apply(self, apply: Callable[[Any, Any], Any], x: Array, y: Array, bound: int) -> Array:
        if bound >> 63:
            x, y = np.asarray(x).astype(object), np.asarray(y).astype(object)
        return self._held(np.asarray(apply(x, y)))

    def _held(self, x: Array) -> Array:
        if x.size:
            least, most = int(x.min()), int(x.max())
            # ~n has as many bits as a negative n but for its sign.
            needed = 1 + max((n if n >= 0 else ~n).bit_length() for n in (least, most))
            if needed > self.bits:
                raise WordOverflow(needed, self.bits)
        return x.astype(np.int64, copy=False)


def integer(bits: int) -> Integers:
    """Words of signed integers of so many bits, 2..64."""
    return Integers(bits)


INT64 = Integers(64)
