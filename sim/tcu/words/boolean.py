"""Truth values: (+) is or, (x) is and."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .kind import Array, cannot, need_matrices

__all__ = ["BOOLEAN", "Booleans"]


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
