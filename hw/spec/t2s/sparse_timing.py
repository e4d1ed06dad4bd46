"""Cycles of an element with addressed sums, and the time until it can use a sum again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .sparse_parts import SparseElementPart
from .timing import FEW_SUMS, timing_of

__all__ = ["EntryTiming", "entry_begins", "entry_interval_text", "entry_timing"]


class EntryTiming(NamedTuple):
    """Times at which the operations of entries read sums, and at which these can be read again.

    Parameters
    ----------
    ahead: cycles from reading a sum to having it
    lead: cycles from an operation to the sum so far
    latency: cycles from that to the next one
    """

    ahead: int
    lead: int
    latency: int

    @property
    def again(self) -> int:
        """Fewest cycles from an operation to the next one with the same sum: a sum that is written
        at the end of a cycle is read in the next one."""
        return self.latency + 1 + self.ahead

    @property
    def drain(self) -> int:
        """Cycles from the token that completes all sums to the first result."""
        return self.lead + self.latency + self.ahead

    def waits(self, ring_words: int) -> bool:
        """Returns whether operations wait for a sum, because an entry has fewer of them than a sum
        takes cycles."""
        return ring_words < self.again


def entry_timing(part: SparseElementPart) -> EntryTiming:
    """Computes the timing of an element. Raises ValueError for arithmetic that cannot be built."""
    timing = timing_of(part.factors)
    ahead = int(part.places > FEW_SUMS)
    return EntryTiming(ahead, max(timing.lead, ahead), timing.latency)


def entry_begins(part: SparseElementPart, slots: Iterable[int | None]) -> list[int]:
    """The cycles in which an element's tokens begin, if nothing but sums is waited for.

    Parameters
    ----------
    slots: rows of the entries of an iteration of the outermost level; None for a token that is no
        entry

    Returns
    -------
    Of each token, with 0 for the first. An entry's operations begin in as many cycles one behind
    the other, and its token is taken in the last of them.
    """
    again = entry_timing(part).again
    found: list[int] = []
    rows: dict[int, int] = {}
    cycle = 0
    for slot in slots:
        if slot is None:
            found.append(cycle)
            cycle += 1
            continue
        cycle = max(cycle, rows.get(slot, -again) + again)
        found.append(cycle)
        rows[slot] = cycle
        cycle += part.ring_words
    return found


def entry_interval_text(part: SparseElementPart) -> str:
    """Describes in words how often an element begins an operation."""
    words, again = part.ring_words, entry_timing(part).again
    said = "an operation" if words == 1 else f"{words} operations"
    if words < again:
        waits = "an entry waits for the sums of the one before"
        return f"an operation every cycle, but {said} every {again} in the same row: {waits}"
    return f"an operation every cycle, {said} an entry"
