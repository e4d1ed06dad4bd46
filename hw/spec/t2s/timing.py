"""Cycles of an element from operands to a sum, and whether its operations wait."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..simd2 import compares
from .arithmetic import LaneSum
from .parts import ElementPart

__all__ = [
    "FEW_SUMS",
    "Interval",
    "Timing",
    "holds_operands",
    "interlocked",
    "interval_of",
    "interval_text",
    "lane_sum_latency",
    "timing_of",
    "widens",
]

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
