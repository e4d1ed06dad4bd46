"""A memory channel: a DRAM with banks and rows behind a reordering controller, or a flat memory.

The controller decides as that of gem5 does (Hansson et al., Simulating DRAM controllers for future
system architecture exploration, ISPASS 2014): one access after the other, each at the latest
moment at which its precharge and activate can still hide behind the accesses before it. It takes
the access whose data can come first, among equals a row hit, among equals the oldest
(first ready, first come, first served). Rows stay open. Writes are collected and served
in batches. There is no refresh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .compiled import inlined

__all__ = ["FLAT", "HBM", "HBM_32", "MEMORIES", "Channels", "MemoryModel", "Timing", "serve"]


@dataclass(frozen=True, kw_only=True)
class MemoryModel:
    """What a memory channel does. Times in ns.

    Parameters
    ----------
    name: of the model
    gigabytes: peak bandwidth in GB/s
    access_bytes: bytes of an access: the least that is ever moved
    banks: banks of the channel; 0 for a flat memory, which answers each burst ``latency`` cycles of
        the accelerator after its address and sends a beat a cycle, and whose other
        parameters mean nothing
    page_bytes: bytes of a row of a bank
    column: from a column command to its data (tCL)
    activate: from an activate to a column command (tRCD)
    precharge: from a precharge to an activate (tRP)
    active: least time from an activate to a precharge (tRAS)
    read_to_precharge, write_recovery: from a read command, from a write's last data, to a
        precharge (tRTP, tWR)
    activate_gap: least time between activates of different banks (tRRD)
    activate_window: time in which at most four activates may be (tFAW); 0 for no limit
    read_to_write, write_to_read: gap on the bus between a read and a write (tRTW), and from the
        last data of a write to a read command (tWTR)
    controller: time that a read spends in the controller's pipelines, beside waiting
    read_queue, write_queue: accesses that the controller holds and may reorder
    latency: of a flat memory, in cycles of the accelerator
    """

    name: str
    gigabytes: float = 16.0
    access_bytes: int = 64
    banks: int = 16
    page_bytes: int = 2048
    column: float = 15.0
    activate: float = 15.0
    precharge: float = 15.0
    active: float = 33.0
    read_to_precharge: float = 7.5
    write_recovery: float = 18.0
    activate_gap: float = 4.0
    activate_window: float = 30.0
    read_to_write: float = 4.0
    write_to_read: float = 10.0
    controller: float = 20.0
    read_queue: int = 64
    write_queue: int = 64
    latency: int = 20

    def __post_init__(self) -> None:
        for name in ("access_bytes", "page_bytes"):
            value = getattr(self, name)
            if value < 8 or value & (value - 1):
                raise ValueError(f"`{name}` must be a power of two from 8 up, not {value}")
        for name in ("read_queue", "write_queue", "latency"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` must be at least 1, not {getattr(self, name)}")
        if self.banks < 0:
            raise ValueError(f"`banks` must be at least 0, not {self.banks}")
        if not self.gigabytes > 0:
            raise ValueError(f"`gigabytes` must be above 0, not {self.gigabytes}")

    @property
    def flat(self) -> bool:
        """Whether it has neither banks nor a bandwidth of its own."""
        return self.banks == 0


HBM = MemoryModel(name="hbm")
"""A 128-bit channel of HBM at 1 GHz, accesses of burst length 4 (64 bytes).

The timings are those of gem5's ``HBM_1000_4H_1x128`` (src/python/gem5/components/memory/
dram_interfaces/hbm.py), the model that the MatRaptor paper used: pages of 2 KiB, tCL = tRCD = tRP =
15 ns, tRAS 33 ns, tRRD 4 ns, four activates in 30 ns, tWTR 10 ns, tRTW 4 ns; 10 + 10 ns in its
controller. It has 8 banks for dies of 2 Gb; larger dies have 16, as here."""

HBM_32 = replace(HBM, name="hbm32", access_bytes=32)
"""The same with accesses of burst length 2 (32 bytes), which JEDEC's HBM allows in legacy mode."""

FLAT = MemoryModel(name="flat", banks=0)
"""What benches put behind the RTL: a fixed latency and a beat of the port every cycle."""

MEMORIES = {model.name: model for model in (HBM, HBM_32, FLAT)}


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
    controller: float
    write_high: int
    write_low: int


class Channels(NamedTuple):
    """State of all channels.

    ``queue``: [channel, write, place] -> (bank, row, accesses, tag) in order of arrival; ``count``:
    [channel, write]; ``row``, ``activate_at``, ``column_at``, ``precharge_at``: [channel,
    bank], the open row (-1: none) and when the next command may come; ``clock``: [channel] ->
    (when the bus is free, its last four activates, end of the last access's data); ``writing``:
    [channel], whether writes are being served.
    """

    queue: Any
    count: Any
    row: Any
    activate_at: Any
    column_at: Any
    precharge_at: Any
    clock: Any
    writing: Any


_BANK, _ROW, _ACCESSES, _TAG = range(4)
_FREE, _OLDEST, _NEWEST, _END = 0, 1, 4, 5


def timing(model: MemoryModel, gigahertz: float) -> Timing:
    """The model's times in cycles of a clock."""
    names = Timing._fields[1:12]
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
    """From reads to writes when enough have gathered or nothing else waits, and back."""
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
def serve(time: Timing, state: Channels, channel: int, now: float) -> tuple[int, int, float]:
    """Decide the channel's next access if it is time to.

    Returns its tag (-1: none), whether it is a write, and when its last data has moved.
    """
    clock = state.clock[channel]
    if clock[_FREE] - time.precharge - time.activate > now:
        return -1, 0, 0.0
    if state.count[channel, 0] + state.count[channel, 1] == 0:
        return -1, 0, 0.0
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
