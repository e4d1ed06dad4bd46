"""Cycle model of the engine: its parts put together, and a job run.

Nothing is done cycle by cycle: each part says when it does what comes next, as soon as it is known
what that waits for, and bursts are taken in the order of time in which the bus takes them. What
follows from a burst is later than the burst, so that nothing is known too late.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from ....hw.spec.engine import EngineConfig
from ....hw.spec.jobs.engine import job_spec
from ...device.model import first_broken
from ...timing.compiled import compiled, inlined
from ...timing.dram import FLAT, Channels, MemoryModel, Timing, channels, timing
from ..job import Job
from .dram_channel import dram_event, grant, grants_at, next_event, send
from .report import EngineCycles, bound, report
from .state import KNOWN, NEVER, RESULTS, RING, Shape, State, set_up, shape
from .steady import Periods, is_exact
from .store import store_on


@inlined
def _tiles(s: State) -> int:
    """Returns the number of tiles of the current block."""
    u = s.unit
    down = u.down_end if u.i == u.i_last else u.down
    across = u.across_end if u.j == u.j_last else u.across
    return down * across


@inlined
def _soonest(c: Shape, s: State) -> int:
    """The first cycle in which the chunk at hand may begin; `NEVER` if that is not known yet."""
    u = s.unit
    if u.done or s.readers[0].loaded <= u.chunk or s.readers[1].loaded <= u.chunk:
        return NEVER
    place = u.chunk % KNOWN
    soonest = max(s.loaded[0, place], s.loaded[1, place]) + 1
    if u.k == 0:
        if c.use_c:
            if s.readers[2].loaded <= u.block:
                return NEVER
            soonest = max(soonest, s.loaded[2, u.block % KNOWN] + 1)
        elif u.block >= 2:
            if s.store.stored <= u.block - 2:
                return NEVER
            soonest = max(soonest, s.stored[(u.block - 2) % KNOWN] + 1)
    return soonest


@inlined
def _operation(c: Shape, s: State, soonest: int) -> int:
    """One operation, from when on it may leave the sequencer; returns when it does."""
    u = s.unit
    # The scratchpads' outputs are free when the operation before has moved into the feeder's
    # register, and that when the one before has been accepted.
    left = max(soonest, u.moved_at)
    moved = max(left + 1, u.accepted_at)
    if c.staged:
        accepted = max(moved + 1, u.begun_at)
        u.begun_at = max(accepted + 1, u.begun_at + c.interval)
    else:
        accepted = max(moved + 1, u.begun_at + c.interval)
        u.begun_at = accepted
    u.moved_at = moved
    u.accepted_at = accepted
    u.busy += accepted - moved
    return left


@inlined
def _together(c: Shape, s: State, soonest: int, count: int) -> int:
    """Runs ``count`` operations, at least 4, that wait for no sum; returns when the last one
    leaves."""
    u = s.unit
    _operation(c, s, soonest)
    # The second operation of a staged unit is accepted when the first one begins.
    second = u.begun_at if c.staged else u.begun_at + c.interval
    last = second + (count - 2) * c.interval
    u.busy += last - u.accepted_at
    u.accepted_at = last
    u.begun_at += (count - 1) * c.interval
    # An operation moves when the one before is accepted, and leaves when that one moves.
    u.moved_at = last - c.interval
    return last - 2 * c.interval


@inlined
def _one_by_one(c: Shape, s: State, soonest: int, count: int, tiles: int) -> int:
    """Runs ``count`` operations, each after the sum before it; returns when the last one leaves."""
    u = s.unit
    left = soonest
    for _ in range(count):
        if u.in_block >= tiles:
            soonest = max(soonest, s.results[(u.in_block - tiles) % RESULTS] + 1)
        left = _operation(c, s, soonest)
        s.results[u.in_block % RESULTS] = u.begun_at + c.latency - c.staged
        u.in_block += 1
    return left


@inlined
def compute_chunk(c: Shape, s: State) -> bool:
    """The next chunk, if it is known when it may begin; returns whether it is."""
    soonest = _soonest(c, s)
    if soonest == NEVER:
        return False
    u = s.unit
    tiles = _tiles(s)
    count = tiles * (u.deep_end if u.k == u.k_last else u.deep)
    if u.operations == 0:
        u.first_at = max(soonest, 1) + 2
    if (tiles - 3) * c.interval > c.latency:
        left = _together(c, s, soonest, count)
    else:
        left = _one_by_one(c, s, soonest, count, tiles)
    u.operations += count
    place = u.chunk % KNOWN
    for reader in range(2):
        s.freed[reader, place] = left
        s.readers[reader].freed += 1
    u.chunk += 1
    if u.k < u.k_last:
        u.k += 1
        return True
    s.computed[u.block % KNOWN] = u.begun_at + c.latency - c.staged
    s.store.computed += 1
    u.block += 1
    u.in_block = 0
    u.k = 0
    if u.j < u.j_last:
        u.j += 1
    else:
        u.j = 0
        u.done = u.i == u.i_last
        u.i += 1
    return True


_TO_BUFFER = 2
"""Cycles from a beat at ``r`` to the scratchpad."""


@inlined
def _next_row(c: Shape, s: State, reader: int) -> bool:
    """The next row leaves the walker; whether there is one whose time is known."""
    r = s.readers[reader]
    if r.done:
        return False
    at = max(r.row_at + 1, r.split_at)
    if r.row == 0:
        if r.begun >= 2:
            if r.freed < r.begun - 1:
                return False
            at = max(at, s.freed[reader, (r.begun - 2) % KNOWN] + 1)
        r.begun += 1
    r.row_at = at
    ends = ((r.i == r.i_last), (r.j == r.j_last), (r.k == r.k_last))
    rows = r.rows_end if ends[r.rows_by] else r.rows
    r.left = r.beats_end if ends[r.beats_by] else r.beats
    r.address = (
        r.base + r.i * r.step_i + r.j * r.step_j + r.k * r.step_k + r.row * r.step_row
    ) & c.mask
    r.row += 1
    r.block_end = r.row == rows
    if r.block_end:
        r.row = 0
        r.k += 1
        if ends[2]:
            r.k = 0
            r.j += 1
            if ends[1]:
                r.j = 0
                r.i += 1
                r.done = ends[0]
    return True


@inlined
def _split(c: Shape, s: State, reader: int) -> None:
    """The next burst of the row at hand comes to the splitter's output."""
    r = s.readers[reader]
    index = (r.address >> c.beat_shift) & (c.burst_beats - 1)
    r.beats_now = min(r.left, c.burst_beats - index)
    r.left -= r.beats_now
    r.burst_address = r.address
    r.address = (r.address + (r.beats_now << c.beat_shift)) & c.mask
    r.ends = r.block_end and r.left == 0
    r.split = 1
    r.split_at = max(r.issued_at, r.row_at + 1)


@inlined
def _room(c: Shape, s: State, reader: int) -> int:
    """Returns when the buffer has room for the longest burst; `NEVER` if not known yet."""
    r = s.readers[reader]
    wanted = r.issued - (c.buffer_beats - c.burst_beats)
    if wanted <= 0:
        return 0
    while r.room_beats + s.beats[reader, r.room_burst % RING] < wanted:
        r.room_beats += s.beats[reader, r.room_burst % RING]
        r.room_burst += 1
    start = s.start[reader, r.room_burst % RING]
    if start == NEVER:
        return NEVER
    return start + (wanted - r.room_beats - 1) + _TO_BUFFER + 1


@inlined
def _slot(c: Shape, s: State, reader: int) -> int:
    """Returns when the reader may issue one more burst; `NEVER` if not known yet."""
    r = s.readers[reader]
    if r.bursts < c.outstanding:
        return 0
    place = (r.bursts - c.outstanding) % RING
    start = s.start[reader, place]
    if start == NEVER:
        return NEVER
    return start + s.beats[reader, place]


@inlined
def ask_next(c: Shape, s: State, reader: int) -> None:
    """Find out when the next burst asks for the bus, if that is known."""
    r = s.readers[reader]
    if r.asks_at != NEVER:
        return
    if not r.split:
        if r.left == 0 and not _next_row(c, s, reader):
            return
        _split(c, s, reader)
    room, slot = _room(c, s, reader), _slot(c, s, reader)
    if room == NEVER or slot == NEVER:
        return
    r.issued_at = max(r.split_at + 1, r.granted_at, room, slot)
    r.asks_at = r.issued_at + 1


_spec = cache(job_spec)


@inlined
def _ask(c: Shape, s: State) -> None:
    """All that the readers can know now."""
    for reader in range(c.readers):
        ask_next(c, s, reader)


@inlined
def _settle(c: Shape, s: State) -> None:
    """Everything that is known by now."""
    moved = True
    while moved:
        moved = False
        while compute_chunk(c, s):
            moved = True
        if store_on(c, s):
            moved = True
    _ask(c, s)


@inlined
def _flat_event(c: Shape, s: State, manager: int, now: int) -> bool:
    """A burst comes to ``ar`` and is taken in the next cycle; returns whether a block has come."""
    reader = grant(c, s, manager, now)
    r, p = s.readers[reader], s.managers[manager]
    p.before_at = p.taken_at
    p.taken_at = now + 1
    p.read += r.beats_now << c.beat_shift
    return send(c, s, reader, r.bursts - 1, now + 1 + c.answer)


@compiled
def _run_flat(shapes: Any, states: Any, blocks: int) -> int:
    """Runs on flat memories until ``blocks`` are computed, or all; returns the cycle, or
    `NEVER`."""
    c, s = shapes[0], states[0]
    _settle(c, s)
    while True:
        manager, at = 0, NEVER
        for number in range(c.managers):
            its = grants_at(c, s, number)
            if its < at:
                manager, at = number, its
        if at == NEVER:
            return at
        if _flat_event(c, s, manager, at):
            _settle(c, s)
            if s.unit.block >= blocks:
                return at
        _ask(c, s)


@compiled
def _run_dram(shapes: Any, states: Any, d: Channels, t: Timing, blocks: int) -> int:
    """The same on DRAMs."""
    c, s = shapes[0], states[0]
    _settle(c, s)
    while True:
        manager, at, what = 0, NEVER, 0
        for number in range(c.managers):
            its, kind = next_event(c, s, d, t, number)
            if its < at:
                manager, at, what = number, its, kind
        if at == NEVER:
            return at
        if dram_event(c, s, d, t, manager, what, at):
            _settle(c, s)
            if s.unit.block >= blocks:
                return at
        _ask(c, s)


def _run(
    config: EngineConfig, c: Any, s: Any, memory: MemoryModel, gigahertz: float, whole: bool
) -> None:
    """Runs to the end of the job. Skips periods that repeat the one before unless ``whole``."""
    if memory.flat:
        periods, run = Periods(c, s), partial(_run_flat, c, s)
    else:
        drams, times = channels(memory, config.managers), timing(memory, gigahertz)
        periods, run = Periods(c, s, drams), partial(_run_dram, c, s, drams, times)
        whole = whole or not is_exact(times)
    while (now := run(NEVER if whole else periods.blocks)) != NEVER:
        periods.leave_out(now)


def run_job(
    config: EngineConfig,
    job: Job,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 1.0,
    interval: int | None = None,
    turn: int = 0,
    whole: bool = False,
) -> EngineCycles:
    """Simulates a job that obeys the rules: its time and its traffic. The values of its operands do
    not matter.

    Parameters
    ----------
    job: the registers
    memory: of each manager
    gigahertz: clock of the engine
    interval: cycles that the unit takes for an operation, if not its own: with ``depth`` it is a
        vector unit of the same width, which does one operation a lane and cycle
    turn: the operand (0: A, 1: B, 2: C) that the first manager has read last, before the job; 0
        behind a reset
    whole: simulate all blocks, also those that are left out because they take as long as the ones
        before; to compare

    Raises
    ------
    ValueError if a register breaks a rule, ``interval`` is below 1, or a burst of the engine is
    longer than the pages that the memory can queue; :class:`BoundBroken`, which no job of a model
    that is right does.
    """
    broken = first_broken(_spec(config), job.registers)
    if broken is not None:
        raise ValueError(f"register {broken.register} breaks a rule of the engine: {broken.error}")
    if interval is not None and interval < 1:
        raise ValueError(f"`interval` must be at least 1, not {interval}")
    pages = config.burst_beats * config.beat_bytes // memory.page_bytes
    if not memory.flat and pages > min(memory.read_queue, memory.write_queue):
        least = min(memory.read_queue, memory.write_queue)
        raise ValueError(
            f"`read_queue` and `write_queue` must be at least {pages}, the pages of a burst, not "
            f"{least}"
        )
    operation = next(x for x in config.unit.operations.values() if x.opcode == job.op)
    c = shape(config, operation, job, memory, interval)
    s = set_up(config, operation, job, c, turn)
    _run(config, c, s, memory, gigahertz, whole)
    limit = bound(config, operation, job, memory, gigahertz, int(c["interval"][0]))
    store = s[0]["store"]
    if not s[0]["unit"]["done"] or store["answers"] != store["bursts"]:
        raise AssertionError("the cycle model has come to a standstill")
    return report(config, operation, job, c[0], s[0], memory, gigahertz, limit)
