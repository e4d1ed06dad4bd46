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
from ...device.checks import first_broken
from ...timing.compiled import compiled, inlined
from ...timing.dram import FLAT, Channels, MemoryModel, Timing, channels, timing
from ..job import Job
from .bound import bound
from .compute import compute_chunk
from .dram_channel import dram_event, next_event
from .memory import grant, grants_at, send
from .reader import ask_next
from .report import EngineCycles, report
from .state import NEVER, Shape, State, set_up, shape
from .steady import Periods
from .steady_dram import is_exact
from .store import store_on

__all__ = ["run_job"]

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
    """On flat memories, until so many blocks are computed, or nothing is left to do; returns the
    cycle at hand, or `NEVER`."""
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
    """To the end, with periods that are like the one before left out unless ``whole``."""
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
    """How long a job takes that obeys the rules, and what it moves; its values do not matter.

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
