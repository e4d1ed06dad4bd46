"""Parts of the lanes' memories that tiles take turns in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....hw.spec.gta import LEFT_WORD_BYTES

__all__ = ["Slot", "Slots", "bank_words"]


def bank_words(count: int) -> int:
    """Words of a bank that so many bytes take."""
    return -(-count // LEFT_WORD_BYTES)


@dataclass
class Slot:
    """A part of a memory.

    Members
    -------
    word: where it begins in each bank
    tile: what it holds; None: nothing
    filled: what has to be complete before it is read, by kind of command
    used: what has to be complete before it is written
    turn: when it was used last
    """

    word: int
    tile: Any = None
    filled: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    turn: int = 0


class Slots:
    """Some equal parts of a memory, which hold tiles.

    Parameters
    ----------
    words: words of each bank of the memory
    count: parts
    """

    def __init__(self, words: int, count: int) -> None:
        self._slots = [Slot(number * (words // count)) for number in range(count)]
        self._turn = 0

    def take(self, tile: Any) -> tuple[Slot, bool]:
        """The part that holds a tile, and whether it has to be filled first: then it is that which
        was used longest ago."""
        self._turn += 1
        held = [slot for slot in self._slots if slot.tile == tile]
        slot = held[0] if held else min(self._slots, key=lambda slot: slot.turn)
        slot.turn, slot.tile = self._turn, tile
        return slot, not held
