"""Results that are kept while a program runs, found again by the objects that decide them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

__all__ = ["Memo"]

Result = TypeVar("Result")


class Memo:
    """Results by the identity of objects, which must not change, and by values."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[tuple[object, ...], object]] = {}

    def __call__(
        self, objects: tuple[object, ...], values: tuple[Hashable, ...], make: Callable[[], Result]
    ) -> Result:
        """Returns the result of the last call with these objects and values; makes it if there is
        none."""
        key = tuple(map(id, objects)), values
        if key not in self._kept:
            self._kept[key] = objects, make()  # an object that is kept keeps its identity
        found = self._kept[key][1]
        return found  # type: ignore[return-value]
