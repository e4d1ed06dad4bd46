"""The reference: products as the words define them, of any side and any words."""

from __future__ import annotations

from .words import Array, Words

__all__ = ["NumpyBackend"]


class NumpyBackend:
    """A unit of side ``side`` in NumPy; it measures no cycles.

    Parameters
    ----------
    side: s, from 1

    Raises
    ------
    TypeError or ValueError for a side that is no integer, or below 1.
    """

    name = "numpy"
    held: tuple[str, ...] = ("any",)
    cycles: int | None = None

    def __init__(self, side: int) -> None:
        if isinstance(side, bool) or not isinstance(side, int):
            raise TypeError(f"`side` must be an integer, not {type(side).__name__}")
        if side < 1:
            raise ValueError(f"`side` must be 1 or more, not {side}")
        self.side = side

    def holds(self, words: Words) -> bool:
        return True

    def multiply(self, a: Array, b: Array, words: Words) -> Array:
        return words.product(a, b)

    def multiply_add(self, a: Array, b: Array, c: Array, words: Words) -> Array:
        return words.add(words.product(a, b), c)
