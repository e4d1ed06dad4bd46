"""Cycle model: what each cycle of a lane goes to, by the rule of ``breakdown``."""

from __future__ import annotations

from ...timing.compiled import inlined
from .breakdown import A_WAIT, B_PAIRS, B_ROWS, CONFLICT, DRAIN, PRODUCT, ROW_END, START
from .state import State

__all__ = ["account"]


@inlined
def _missing(s: State, lane: int, fed: int, now: int) -> int:
    """What a multiplier waits for that has room for a product."""
    record = s.lanes[lane]
    if record.port_count and s.port[lane, 0, 4] <= now:
        # If it takes none the channel's queue is full.
        taken_at = s.channels[s.port[lane, 0, 0]].granted_at
        if record.granted_at < now and taken_at == now:
            return CONFLICT
    if fed:
        return A_WAIT
    if record.kept_out < record.kept_in:
        return B_ROWS
    if record.described >= 0 or record.token_row < record.token_lookup:
        return B_PAIRS
    return A_WAIT


@inlined
def account(s: State, lane: int, waiting: int, took: int, passed: int, fed: int, now: int) -> None:
    """Count a cycle of a lane, before its loaders' step.

    ``waiting``, ``took``: of `multiply`; ``passed``: whether anything went into the multiplier;
    ``fed``: whether a row of B is at hand, so that it can but wait for A.
    """
    record = s.lanes[lane]
    if took:
        reason = PRODUCT
    elif record.products == record.due:
        reason = DRAIN
    elif record.products == 0:
        reason = START
    elif waiting == 2:
        reason = record.held_by
    elif passed:
        reason = ROW_END
    else:
        reason = _missing(s, lane, fed, now)
    s.spent[lane, reason] += 1
