"""Where a driver puts things in its device's memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

__all__ = ["NoRoom", "Placement"]


class NoRoom(ValueError):
    """There is too little memory: ``end``, the address behind what was asked for."""

    def __init__(self, text: str, end: int) -> None:
        super().__init__(text)
        self.end = end


class Placement:
    """Places in a memory, one behind the other.

    Parameters
    ----------
    first, end: the addresses that may be used, ``end`` excluded
    alignment: what all places are multiples of
    """

    def __init__(self, first: int, end: int, alignment: int) -> None:
        self._next, self._end, self._alignment = first, end, alignment

    @property
    def left(self) -> int:
        """Bytes behind the last place."""
        return max(0, self._end - self._aligned(self._next))

    def _aligned(self, address: int) -> int:
        return -(-address // self._alignment) * self._alignment

    def fit(self, sizes: Mapping[str, int], what: str) -> dict[str, int]:
        """The addresses that places of these sizes would have, by name, one behind the other.

        Raises NoRoom, with ``what`` they are for, if there is too little of it.
        """
        places, address = {}, self._next
        for name, size in sizes.items():
            places[name] = self._aligned(address)
            address = places[name] + size
        if address > self._end:
            need = address - self._aligned(self._next)
            text = f"{need} bytes of memory are needed for {what}; {self.left} are left"
            raise NoRoom(text, address)
        return places

    def take(self, size: int, what: str) -> int:
        """The address of a place that nobody else will have. Raises as :meth:`fit`."""
        address = self.fit({what: size}, what)[what]
        self._next = address + size
        return address

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """What is taken inside is free afterwards."""
        mark = self._next
        try:
            yield
        finally:
            self._next = mark
