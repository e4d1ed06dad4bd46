"""Allocates addresses in the memory of a device for its driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

__all__ = ["NoRoom", "Placement"]

_PARTS = 16
"""Number of equal parts of a span."""

_STEP = 5
"""Parts of a span from one long place's beginning to the next one's: no divisor of ``_PARTS``, so
that all differ."""


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
    span: bytes of a row in every bank of a memory: places of half of it, or more, begin in turn in
        other sixteenths of it, so that what is used side by side does not meet in a bank; 0: one
        behind the other
    """

    def __init__(self, first: int, end: int, alignment: int, *, span: int = 0) -> None:
        self._next, self._end, self._alignment = first, end, alignment
        self._span = span

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
        places, address, long = {}, self._next, 0
        for name, size in sizes.items():
            address = self._aligned(address)
            if self._span and 2 * size >= self._span:
                begin = long * _STEP % _PARTS * (self._span // _PARTS)
                address = self._aligned(address + (begin - address) % self._span)
                long += 1
            places[name] = address
            address += size
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
        """Frees at the end of the ``with`` block all memory that was allocated inside."""
        mark = self._next
        try:
            yield
        finally:
            self._next = mark
