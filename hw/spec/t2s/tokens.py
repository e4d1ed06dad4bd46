"""Tokens that select the entries of a sparse operand: a stream for each element."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..formats import Format

__all__ = ["STEPS_BITS", "Coordinate", "Field", "TokenLayout"]

STEPS_BITS = 32
"""Width of an image's number of vectors of tokens."""


@dataclass(frozen=True)
class Coordinate:
    """A place within a tile, along an index whose entries alone are stored.

    Parameters
    ----------
    index: of the computation
    loop: that walks it within a tile
    extent: how far it goes there
    """

    index: str
    loop: str
    extent: int

    @property
    def bits(self) -> int:
        return max(1, (self.extent - 1).bit_length())


@dataclass(frozen=True)
class Field:
    """Bits of a token."""

    name: str
    low: int
    bits: int


@dataclass(frozen=True)
class TokenLayout:
    """A token: an entry of a sparse tensor, or the end of a tile, or nothing.

    From the lowest bit on: ``value`` (or ``value_0``, ``value_1``, ... of tensors that are merged),
    a word each, in its container; ``at_<index>``, a place within the tile for each index whose
    entries alone are stored; ``slot``, which of its element's rows the entry is of; ``ends``; and
    ``present``: the token is an entry. Zeros fill it up to whole bytes. Where values may be
    missing, ``there`` has a bit for each: one that is not there is what pads its tensor.

    A token that is not present and has no bit of ``ends`` set says nothing. One that has stands
    behind all entries of its tile: bit n says that the iteration of loop ``levels[n]`` ends with
    the tile, since all levels inside of it are in their last one; that of the innermost level is
    always set. A token that is present has none of them set.

    Parameters
    ----------
    word: format of the values
    coordinates: of an entry
    slots: rows of an element
    levels: loops around a tile, outermost first: their trip counts are registers'
    words: values of a token
    lacking: whether some of them may not be there
    """

    word: Format
    coordinates: tuple[Coordinate, ...]
    slots: int
    levels: tuple[str, ...]
    words: int = 1
    lacking: bool = False

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields, the lowest one first."""
        names = ["value"] if self.words == 1 else [f"value_{n}" for n in range(self.words)]
        sizes = [(name, self.word.container_bits) for name in names]
        sizes += [(f"at_{one.index}", one.bits) for one in self.coordinates]
        sizes += [("slot", max(1, (self.slots - 1).bit_length()))]
        sizes += [("ends", len(self.levels)), ("present", 1)]
        sizes += [("there", self.words)] if self.lacking else []
        found, low = [], 0
        for name, bits in sizes:
            found.append(Field(name, low, bits))
            low += bits
        return tuple(found)

    def field(self, name: str) -> Field:
        return next(one for one in self.fields if one.name == name)

    @property
    def bits(self) -> int:
        """Bits of all fields."""
        last = self.fields[-1]
        return last.low + last.bits

    @property
    def bytes(self) -> int:
        """Bytes of a token in memory."""
        return -(-self.bits // 8)

    def merged(self, words: int = 2, *, lacking: bool = False) -> TokenLayout:
        """Layout of tokens of so many merged tensors; ``lacking``: an entry of any one is
        enough."""
        return replace(self, words=words, lacking=lacking)
