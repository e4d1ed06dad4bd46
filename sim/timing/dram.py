"""A memory channel: a DRAM with banks and rows behind a reordering controller, or a flat memory.

The controller decides as that of gem5 does (Hansson et al., Simulating DRAM controllers for future
system architecture exploration, ISPASS 2014): one access after the other, each at the latest
moment at which its precharge and activate can still hide behind the accesses before it. It takes
the access whose data can come first, among equals a row hit, among equals the oldest
(first ready, first come, first served). Rows stay open. Writes are collected and served
in batches. A refresh, where the model has one, closes the rows of all banks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .compiled import inlined
from .memories import FLAT, HBM, HBM_32, HBM_REFRESH, MEMORIES, MemoryModel

__all__ = [
    "FLAT",
    "HBM",
    "HBM_32",
    "HBM_REFRESH",
    "MEMORIES",
    "Channels",
    "MemoryModel",
    "Timing",
    "serve",
]


class Timing(NamedTuple):
    """A :class:`MemoryModel` in cycles of the accelerator."""

    burst: float
    column: float
    activate: float
    precharge: float
    active: float
    read_to_precharge: float
    write_recovery: float
    activate_gap: float
    activate_window: float
    read_to_write: float
    write_to_read: float
    refresh_interval: float
    refresh: float
    controller: float
    write_high: int
    write_low: int


class Channels(NamedTuple):
    """State of all channels.

    ``queue``: [channel, write, place] -> (bank, row, accesses, tag) in order of arrival; ``count``:
    [channel, write]; ``row``, ``activate_at``, ``column_at``, ``precharge_at``: [channel,
    bank], the open row (-1: none) and when the next command may come; ``clock``: [channel] ->
    (when the bus is free, its last four activates, end of the last access's data); ``writing``:
    [channel], whether writes are being served; ``refreshes``: [channel], how many have begun.
    """

    queue: Any
    count: Any
    row: Any
    activate_at: Any
    column_at: Any
    precharge_at: Any
    clock: Any
    writing: Any
    refreshes: Any


_BANK, _ROW, _ACCESSES, _TAG = range(4)
_FREE, _OLDEST, _NEWEST, _END = 0, 1, 4, 5


def timing(model: MemoryModel, gigahertz: float) -> Timing:
    """The model's times in cycles of a clock."""
    names = Timing._fields[1:14]
    cycles = {name: getattr(model, name) * gigahertz for name in names}
    high = max(1, math.floor(0.85 * model.write_queue))
    return Timing(
        burst=model.access_bytes / model.gigabytes * gigahertz,
        **cycles,
        write_high=high,
        write_low=model.write_queue // 2,
    )


def channels(model: MemoryModel, number: int) -> Channels:
    """``number`` idle channels, all rows closed."""
    size = max(model.read_queue, model.write_queue)
    banks = (number, max(1, model.banks))
    clock = np.zeros((number, 6))
    clock[:, _OLDEST : _NEWEST + 1] = -1e9
    return Channels(
        queue=np.zeros((number, 2, size, 4), np.int64),
        count=np.zeros((number, 2), np.int64),
        row=np.full(banks, -1, np.int64),
        activate_at=np.zeros(banks),
        column_at=np.zeros(banks),
        precharge_at=np.zeros(banks),
        clock=clock,
        writing=np.zeros(number, np.int64),
        refreshes=np.zeros(number, np.int64),
    )


@inlined
def push(state: Channels, channel: int, write: int, page: int, accesses: int, tag: int) -> None:
    """Put a request (``accesses`` in one page) into the controller's queue, which has room."""
    place = state.count[channel, write]
    banks = state.row.shape[1]
    state.queue[channel, write, place, _BANK] = page % banks
    state.queue[channel, write, place, _ROW] = page // banks
    state.queue[channel, write, place, _ACCESSES] = accesses
    state.queue[channel, write, place, _TAG] = tag
    state.count[channel, write] = place + 1


@inlined
def _activates(time: Timing, state: Channels, channel: int, now: float) -> float:
    """When any bank may be activated at the earliest."""
    clock = state.clock[channel]
    return max(now, clock[_NEWEST] + time.activate_gap, clock[_OLDEST] + time.activate_window)


@inlined
def _opens(
    time: Timing, state: Channels, channel: int, bank: int, now: float, soonest: float
) -> float:
    """When a bank may be activated for another row, not before ``soonest``."""
    at = max(soonest, state.activate_at[channel, bank])
    if state.row[channel, bank] >= 0:
        at = max(at, max(now, state.precharge_at[channel, bank]) + time.precharge)
    return at


@inlined
def _choose(time: Timing, state: Channels, channel: int, write: int, now: float) -> int:
    """The request whose data can come first; row hits, then the oldest, first."""
    soonest = max(now, state.clock[channel, _FREE])
    activates = _activates(time, state, channel, now)
    best, best_at, best_hit = -1, 0.0, False
    queue = state.queue[channel, write]
    for place in range(state.count[channel, write]):
        bank = queue[place, _BANK]
        hit = state.row[channel, bank] == queue[place, _ROW]
        if hit:
            at = max(soonest, state.column_at[channel, bank])
            if at == soonest:
                return place
        else:
            opened = _opens(time, state, channel, bank, now, activates)
            at = max(soonest, opened + time.activate)
        if best < 0 or at < best_at or (at == best_at and hit and not best_hit):
            best, best_at, best_hit = place, at, hit
    return best


@inlined
def _turn(time: Timing, state: Channels, channel: int) -> None:
    """Switches from reads to writes when enough writes have gathered or no read waits, and back."""
    reads, writes = state.count[channel, 0], state.count[channel, 1]
    clock = state.clock[channel]
    if state.writing[channel]:
        if reads > 0 and (writes == 0 or writes <= time.write_low):
            state.writing[channel] = 0
            clock[_FREE] = max(clock[_FREE], clock[_END] + time.write_to_read)
    elif writes >= time.write_high or (reads == 0 and writes > 0):
        state.writing[channel] = 1
        clock[_FREE] += time.read_to_write


@inlined
def _refresh(time: Timing, state: Channels, channel: int, now: float) -> None:
    """Refreshes all banks if it is time to: rows are closed as soon as each may be, and banks are
    activated again when the refresh is over. What passed while nothing was decided delays nothing.
    """
    due = math.floor(now / time.refresh_interval)
    if due <= state.refreshes[channel]:
        return
    state.refreshes[channel] = due
    begins = due * time.refresh_interval
    for bank in range(state.row.shape[1]):
        closed = state.activate_at[channel, bank]
        if state.row[channel, bank] >= 0:
            closed = max(due * time.refresh_interval, state.precharge_at[channel, bank])
            closed += time.precharge
        begins = max(begins, closed)
    for bank in range(state.row.shape[1]):
        state.row[channel, bank] = -1
        state.activate_at[channel, bank] = begins + time.refresh


@inlined
def serve(time: Timing, state: Channels, channel: int, now: float) -> tuple[int, int, float]:
    """Decide the channel's next access if it is time to.

    Returns its tag (-1: none), whether it is a write, and when its last data has moved.
    """
    clock = state.clock[channel]
    if clock[_FREE] - time.precharge - time.activate > now:
        return -1, 0, 0.0
    if state.count[channel, 0] + state.count[channel, 1] == 0:
        return -1, 0, 0.0
    if time.refresh_interval > 0:
        _refresh(time, state, channel, now)
    _turn(time, state, channel)
    write = state.writing[channel]
    place = _choose(time, state, channel, write, now)
    queue = state.queue[channel, write]
    bank, row = queue[place, _BANK], queue[place, _ROW]
    accesses, tag = queue[place, _ACCESSES], queue[place, _TAG]
    for later in range(place + 1, state.count[channel, write]):
        for field in range(4):
            queue[later - 1, field] = queue[later, field]
    state.count[channel, write] -= 1
    if state.row[channel, bank] != row:
        activates = _activates(time, state, channel, now)
        opened = _opens(time, state, channel, bank, now, activates)
        state.row[channel, bank] = row
        state.column_at[channel, bank] = opened + time.activate
        state.precharge_at[channel, bank] = opened + time.active
        state.activate_at[channel, bank] = opened + time.active + time.precharge
        for older in range(_OLDEST, _NEWEST):
            clock[older] = clock[older + 1]
        clock[_NEWEST] = opened
    first = max(now, clock[_FREE], state.column_at[channel, bank])
    clock[_FREE] = first + accesses * time.burst
    last = clock[_FREE] - time.burst
    clock[_END] = clock[_FREE] + time.column
    hold = clock[_END] + time.write_recovery if write else last + time.read_to_precharge
    state.precharge_at[channel, bank] = max(state.precharge_at[channel, bank], hold)
    return tag, write, clock[_END]
