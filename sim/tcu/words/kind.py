"""Defines the interface of words: the dtype, the two operators, and the inverses that exist."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Words", "cannot", "need_matrices"]

Array = npt.NDArray[Any]


@runtime_checkable
class Words(Protocol):
    """Kind of words. Frozen and hashable; equal if they compute alike.

    Members
    -------
    name: as messages and the command line have it (``modular(17)``)
    kind: the same without parameters (``modular``)
    dtype: of arrays of these words
    zero, one: the identities of (+) and of (x); ``zero`` (x) anything is ``zero``
    subtracts: (+) has an inverse
    divides: (x) has one, but for zero
    exact: a result is the true one, or an error
    """

    subtracts: ClassVar[bool]
    exact: ClassVar[bool]

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def zero(self) -> Any: ...
    @property
    def one(self) -> Any: ...
    @property
    def divides(self) -> bool: ...

    def array(self, x: npt.ArrayLike) -> Array:
        """``x`` as words: a copy only where one is needed.

        Raises TypeError for what are no numbers of this kind, ValueError (a WordOverflow for
        integers) for values that these words do not hold.
        """
        ...

    def add(self, x: Array, y: Array) -> Array:
        """``x (+) y``, element by element; all elementwise operators broadcast."""
        ...

    def subtract(self, x: Array, y: Array) -> Array:
        """``x - y``. Raises TypeError if these words do not subtract."""
        ...

    def multiply(self, x: Array, y: Array) -> Array:
        """``x (x) y``, element by element."""
        ...

    def divide(self, x: Array, y: Array) -> Array:
        """``x / y``. Raises TypeError if these words do not divide."""
        ...

    def product(self, a: Array, b: Array) -> Array:
        """The reference product of two matrices, (n, k) and (k, p), of words.

        Raises ValueError for shapes that do not fit, and what the kind raises (a WordOverflow).
        """
        ...


def need_matrices(a: Array, b: Array) -> None:
    """Raise ValueError unless ``a`` and ``b`` are matrices that can be multiplied."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(
            f"operands must be matrices (n, k) and (k, p), not of shapes {a.shape} and {b.shape}"
        )


def cannot(words: Words, done: str) -> TypeError:
    """The error of an operator that the words do not have."""
    return TypeError(f"words of {words.name} cannot be {done}")
