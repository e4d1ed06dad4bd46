"""Lengths of paths: (+) is the minimum, (x) the sum; infinity where there is no path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .kind import Array, cannot, need_matrices


@dataclass(frozen=True)
class Booleans:
    """The semiring of or and and."""

    subtracts: ClassVar[bool] = False
    exact: ClassVar[bool] = True

    @property
    def kind(self) -> str:
        return "boolean"

    @property
    def name(self) -> str:
        return "boolean"

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.bool_)

    @property
    def zero(self) -> Any:
        return np.False_

    @property
    def one(self) -> Any:
        return np.True_

    @property
    def divides(self) -> bool:
        return False

    def array(self, x: npt.ArrayLike) -> Array:
        """Does as :meth:`Words.array` for booleans, and for integers 0 and 1."""
        given = np.asarray(x)
        if given.dtype.kind not in "biu":
            raise TypeError(f"words of boolean must be booleans, 0 or 1, not {given.dtype}")
        if given.dtype.kind != "b":
            wrong = given[(given != 0) & (given != 1)]
            if wrong.size:
                raise ValueError(f"words of boolean must be 0 or 1, not {wrong[0]}")
        return given.astype(np.bool_, copy=False)

    def add(self, x: Array, y: Array) -> Array:
        return np.asarray(x | y)

    def subtract(self, x: Array, y: Array) -> Array:
        raise cannot(self, "subtracted")

    def multiply(self, x: Array, y: Array) -> Array:
        return np.asarray(x & y)

    def divide(self, x: Array, y: Array) -> Array:
        raise cannot(self, "divided")

    def product(self, a: Array, b: Array) -> Array:
        need_matrices(a, b)
        # Sums of zeros and ones in floats: rounded or not, above zero if one term is.
        return np.asarray(a.astype(np.float32) @ b.astype(np.float32) > 0)


BOOLEAN = Booleans()


@dataclass(frozen=True)
class Lengths:
    """The semiring of minimum and plus on float64: exact as long as lengths are integers whose
    sums stay below 2**53, rounded once a sum otherwise."""

    subtracts: ClassVar[bool] = False
    exact: ClassVar[bool] = False

    @property
    def kind(self) -> str:
        return "minplus"

    @property
    def name(self) -> str:
        return "minplus"

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @property
    def zero(self) -> Any:
        return np.float64(np.inf)

    @property
    def one(self) -> Any:
        return np.float64(0)

    @property
    def divides(self) -> bool:
        return False

    def array(self, x: npt.ArrayLike) -> Array:
        """Does as :meth:`Words.array`; no NaN and no negative infinity."""
        given = np.asarray(x)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"words of minplus must be real numbers, not {given.dtype}")
        held = given.astype(np.float64, copy=False)
        if np.any(np.isnan(held) | np.isneginf(held)):
            raise ValueError("words of minplus must be finite or inf, not nan or -inf")
        return held

    def add(self, x: Array, y: Array) -> Array:
        return np.asarray(np.minimum(x, y))

    def subtract(self, x: Array, y: Array) -> Array:
        raise cannot(self, "subtracted")

    def multiply(self, x: Array, y: Array) -> Array:
        return np.asarray(x + y)

    def divide(self, x: Array, y: Array) -> Array:
        raise cannot(self, "divided")

    def product(self, a: Array, b: Array) -> Array:
        need_matrices(a, b)
        shortest = np.full((a.shape[0], b.shape[1]), np.inf)
        for k in range(a.shape[1]):
            np.minimum(shortest, a[:, k, None] + b[k], out=shortest)
        return shortest


MINPLUS = Lengths()
