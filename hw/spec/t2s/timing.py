"""Cycles of an element from operands to a sum, and whether its operations wait."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ..simd2 import compares
from .arithmetic import LaneSum
from .parts import ElementPart
from .sparse_parts import SparseElementPart

FEW_SUMS = 16
"""Most sums that are read without a clock."""


class Timing(NamedTuple):
    """Times at which the arithmetic of an element needs a sum, and produces the next.

    Parameters
    ----------
    lead: cycles from operands to the sum so far
    latency: cycles from that to the next one
    """

    lead: int
    latency: int


class Interval(NamedTuple):
    """Initiation interval of an element that need not wait for other parts.

    Parameters
    ----------
    operations: that it begins
    cycles: in so many
    """

    operations: int
    cycles: int


def holds_operands(config: LaneSum) -> bool:
    """Returns whether operands are unpacked into registers: floats that are compared a cycle
    before, or whose sum is done in one cycle. Otherwise the logic after the first registers takes
    longer."""
    if not config.is_float or config.semiring == "orand":
        return False
    return compares(config, config.semirings) or config.pipeline == 1


def lane_sum_latency(config: LaneSum) -> int:
    """Cycles from operands to the sum."""
    return holds_operands(config) + config.difference_stage + config.pipeline


def widens(part: ElementPart) -> bool:
    """Returns whether it takes a cycle to convert an operand to a sum's format."""
    return part.arithmetic.is_float and part.arithmetic.element != part.arithmetic.result


def timing_of(part: ElementPart) -> Timing:
    """Computes the timing of an element's arithmetic. Raises ValueError if it cannot be built."""
    inner = lane_sum_latency(part.arithmetic)
    most = 2 if part.outer else 3
    if len(part.inner) > most:
        raise ValueError(
            f"`inner` must be 1 to {most} operands, not {', '.join(part.inner)}: factor one out of "
            "the sum over lanes"
        )
    for name in part.outer:
        if part.operand(name).lanes != 1:
            raise ValueError(
                f"`lanes` of {name}, which is factored out, must be 1, not "
                f"{part.operand(name).lanes}"
            )
    if len(part.inner) == 3:
        pair = lane_sum_latency(replace(part.arithmetic, lanes=1))
        return Timing(max(pair, widens(part)), lane_sum_latency(part.arithmetic.of_products()))
    if not part.outer:
        return Timing(0, inner)
    outer = lane_sum_latency(part.arithmetic.of_sums())
    return Timing(max(inner, widens(part) + (len(part.outer) - 1) * outer), outer)


def interlocked(sums: int, latency: int) -> bool:
    """Returns whether operations wait for others: a sum would be read again before it has been
    written back, ``latency`` cycles after it was read."""
    # A sum that is written at the end of a cycle is readable in the next one, or in the one after
    # that.
    ahead = 1 if sums <= FEW_SUMS else 2
    return sums < latency + ahead


def interval_of(part: ElementPart) -> Interval:
    """One a cycle, or as many as there are sums until the first of these can be taken again."""
    timing = timing_of(part)
    if not interlocked(part.sums, timing.latency):
        return Interval(1, 1)
    return Interval(part.sums, timing.lead + timing.latency + 1)


def interval_text(part: ElementPart) -> str:
    """Describes the interval in words, with its reason."""
    interval, timing = interval_of(part), timing_of(part)
    takes = f"a sum takes {timing.latency} cycle{'s' if timing.latency > 1 else ''}"
    if interval == (1, 1):
        return f"an operation every cycle: {takes}, and it keeps {part.sums}"
    said = "an operation" if part.sums == 1 else f"{part.sums} operations"
    return f"{said} every {interval.cycles} cycles: {takes}, and it keeps {part.sums}"


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
