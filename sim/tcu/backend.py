"""Defines backends: the part of a tensor unit that multiplies."""

from __future__ import annotations

from typing import Protocol

from .words import Array, Words

__all__ = ["Backend"]


class Backend(Protocol):
    """Products of (n, s) by (s, s) words, n >= s of any size.

    Operands are checked before they come here (see :class:`TensorUnit`): arrays of the words'
    dtype and of right shapes, of words that the backend holds; views, not contiguous, are allowed.

    Members
    -------
    name: as the command line has it
    side: s
    held: the names of the words that it holds, for messages; ("any",) of the reference
    cycles: measured so far, None where nothing measures any
    """

    @property
    def name(self) -> str: ...
    @property
    def side(self) -> int: ...
    @property
    def held(self) -> tuple[str, ...]: ...
    @property
    def cycles(self) -> int | None: ...

    def holds(self, words: Words) -> bool:
        """True if the unit multiplies such words."""
        ...

    def multiply(self, a: Array, b: Array, words: Words) -> Array:
        """``a b``, a new array. Raises a WordOverflow if integers do not fit the unit's words."""
        ...

    def multiply_add(self, a: Array, b: Array, c: Array, words: Words) -> Array:
        """``a b (+) c``, a new array, ``c`` of shape (n, s)."""
        ...
