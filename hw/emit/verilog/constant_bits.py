"""Bits that never change are set where the other bits of their signal are."""

from __future__ import annotations

from collections.abc import Sequence

from .registers import assigned, expressions
from .statements import Assign, Item, Process

__all__ = ["with_constant_bits"]


def _signals(process: Process) -> set[str]:
    return {assignment.target.signal for assignment in assigned(process.body)}


def _constant(item: Item) -> str:
    """Returns the signal whose bits a process sets to constants in all cases, or nothing."""
    if not isinstance(item, Process) or item.clocked or len(_signals(item)) != 1:
        return ""
    if not all(isinstance(statement, Assign) for statement in item.body):
        return ""
    constant = all(not a.value.signals() for a in assigned(item.body))
    return min(_signals(item)) if constant else ""


def with_constant_bits(items: Sequence[Item]) -> list[Item]:
    """Items with one process for a signal's constant bits and some others of it, where yosys has
    several: a process that reads nothing is never run again, and tools warn of it."""
    kept: list[Item] = []
    for item in items:
        signal = _constant(item)
        host = next((p for p in items if signal and p is not item and _takes(p, signal)), None)
        if host is None:
            kept.append(item)
        else:
            assert isinstance(item, Process)
            assert isinstance(host, Process)
            host.body[:0] = item.body
    return kept


def _takes(item: Item, signal: str) -> bool:
    """Returns whether a process assigns other bits of a signal and reads none of it."""
    if not isinstance(item, Process) or item.clocked or _signals(item) != {signal}:
        return False
    read = {name for expression in expressions(item) for name in expression.signals()}
    return not _constant(item) and signal not in read
