"""Cycle model of the whole accelerator: its parts put together, and a job run."""

from __future__ import annotations

from typing import Any

from ....hw.spec.gta import COLS, ROWS, GtaConfig
from ....hw.spec.jobs.gta import COUNTERS, beat_bytes
from ....hw.spec.jobs.gta_commands import COMMAND_BYTES, MEMORIES
from ...timing.bursts.bus import (
    arbitrate,
    data_step,
    managers_idle,
    reader_step,
    serve_dram,
    writer_idle,
    writer_step,
)
from ...timing.compiled import compiled, inlined
from ...timing.dram import FLAT, MemoryModel
from ...timing.jobs import ended, looks, stands_still, watch
from .array import array_busy, region_ready, region_step, vector_tail
from .commands import EXECUTE, LOAD, STORE, Job
from .state import LIST, OPERANDS, RING, Gta, set_up
from .transfers import (
    ask,
    check_step,
    deal,
    gather,
    gather_busy,
    offers_in_vain,
    queues_step,
    take_command,
    walk_busy,
    wants,
)


def traffic(config: GtaConfig, job: Job) -> dict[str, int]:
    """The counters of a job that ends well that do not tell of time, by name."""
    commands, beat = job.commands, beat_bytes(config)
    loads, stores = (commands[commands["kind"] == kind] for kind in (LOAD, STORE))
    beats = loads["rows"] * loads["beats"]
    listed = len(commands) * COMMAND_BYTES
    found = {
        f"bytes_{name}": int(beats[loads["memory"] == number].sum()) * beat
        for number, name in enumerate(MEMORIES)
    }
    written = stores["rows"] * (stores["row_bytes"] >> stores["narrow"])
    return {
        "operations": int((commands["kind"] == EXECUTE).sum()),
        "bytes_read": sum(found.values()) + listed,
        "bytes_written": int(written.sum()),
        "bytes_list": listed,
        **found,
    }


TIMED = ("cycles", "busy_cycles", "stalls", "element_cycles", "wait_list", "wait_loads",
         "wait_stores", "wait_results")  # fmt: skip
"""Counters that tell of time."""

_END = 2
"""Cycles from when nothing is under way to the end of the job."""

_PATIENCE = 1 << 22
"""Cycles without a command being complete, or a beat, after which the model has come to a
standstill."""

_SOON = 2
"""A command may be taken so many cycles before its first fold could begin."""


@inlined
def _reader_rests(g: Gta, reader: int) -> bool:
    """Returns whether nothing moves in the reader, provided that no word leaves its output."""
    r = g.b.readers[reader]
    if r.issued or r.under or (r.beats.level != 0 and r.beats.valid == 0):
        return False
    if r.request.split and r.reserved <= r.buffer - r.burst:
        return False
    return r.request.active == 0 or r.request.split != 0


@inlined
def _loads_rest(g: Gta) -> bool:
    """Returns whether no LOAD moves data and no rows of the next one are to be requested."""
    return not walk_busy(g, 0) and g.m[0].chunk == 0 and g.b.readers[OPERANDS].beats.valid == 0


@inlined
def _queues_rest(g: Gta) -> bool:
    """Returns whether no command moves; an EXECUTE may wait for its region."""
    m = g.m[0]
    for kind in range(3):
        if m.queues[kind].valid == 0:
            if m.queues[kind].level:
                return False
        elif not wants(g, kind):
            if kind != EXECUTE:
                return False
            number = g.order[EXECUTE, m.got[EXECUTE]]
            if region_ready(g, g.commands[number].region, number):
                return False
    return offers_in_vain(g)


@inlined
def still_for(g: Gta, now: int) -> int:
    """Returns the number of cycles from this one on in which nothing changes."""
    m, reads = g.m[0], g.b.managers[0]
    if reads.sends_in != reads.sends_out or reads.requests.valid or m.begun == m.ended:
        return 0
    if not g.b.c.flat:
        for channel in range(g.b.c.managers):
            if g.b.dram.count[channel, 0] + g.b.dram.count[channel, 1]:
                return 0
    if not _loads_rest(g) or gather_busy(g) or walk_busy(g, 1) or not writer_idle(g.b):
        return 0
    if m.complete[STORE] != m.sent or g.under[m.ended % RING, 1]:
        return 0
    if not (_reader_rests(g, LIST) and _reader_rests(g, OPERANDS) and _queues_rest(g)):
        return 0
    least = 1 << 40
    for region in range(g.c.regions):
        r = g.regions[region]
        if r.dones_out < r.dones_in:
            least = min(least, g.dones[region, r.dones_out % RING] - now)
        if r.fresh or r.v_waits:
            return 0
        if r.v_left:
            least = min(least, r.v_left - 1)
        elif r.v_tail:
            least = min(least, r.v_tail - 1)
        if r.v_early:
            least = min(least, r.v_early)
        if r.active or r.stay:
            least = min(least, r.wait - _SOON if r.wait > _SOON and not r.active else r.wait)
        elif r.wait:
            least = min(least, r.wait - _SOON if r.wait > _SOON else r.wait)
        elif r.tail:
            least = min(least, r.tail - 1)
    return max(least, 0)


@inlined
def leave_out(g: Gta, cycles: int) -> None:
    """So many cycles are over."""
    for region in range(g.c.regions):
        r = g.regions[region]
        if r.wait:
            r.wait -= cycles
        elif r.tail and not r.active and not r.stay:
            r.tail -= cycles
        if r.v_left:
            r.v_left -= cycles
            r.v_tail = vector_tail(g, region)
        elif r.v_tail:
            r.v_tail -= cycles
        r.v_early = max(0, r.v_early - cycles)
        r.v_near = max(0, r.v_near - cycles)


@inlined
def _finished(g: Gta, now: int) -> bool:
    """Returns whether all commands are complete and nothing is in flight."""
    m = g.m[0]
    if m.left:
        return False
    for kind in range(3):
        if m.complete[kind] != m.passed[kind]:
            return False
    if walk_busy(g, 0) or walk_busy(g, 1) or m.chunk or gather_busy(g):
        return False
    return managers_idle(g.b) and not array_busy(g, now)


@inlined
def _count(g: Gta, cycles: int) -> None:
    """Counts the EXECUTEs, or the reasons that none runs, over so many equal cycles."""
    m = g.m[0]
    if m.begun != m.ended:
        lanes = 0
        for region in range(g.c.regions):
            if g.regions[region].running:
                lanes += g.regions[region].lanes
        if lanes:
            m.counts.stalls += m.gap
            m.gap = 0
            m.counts.busy_cycles += cycles
            m.counts.element_cycles += cycles * lanes * ROWS * COLS
        elif m.counts.busy_cycles:
            m.gap += cycles
        return
    if m.counts.busy_cycles:
        m.gap += cycles
    if not m.queues[EXECUTE].valid:
        m.counts.wait_list += cycles
    elif m.wants[EXECUTE] >> LOAD & 1:
        m.counts.wait_loads += cycles
    elif m.wants[EXECUTE] >> STORE & 1:
        m.counts.wait_stores += cycles


@inlined
def _execute(g: Gta, now: int) -> None:
    """EXECUTEs begin, end, and are complete in their order."""
    m = g.m[0]
    takes, its_region, number = False, -1, 0
    if m.queues[EXECUTE].valid and not m.wants[EXECUTE] and m.begun - m.ended != g.c.most:
        number = g.order[EXECUTE, m.got[EXECUTE]]
        its_region = g.commands[number].region
        takes = region_ready(g, its_region, number)
    m.pops[EXECUTE] = takes
    complete = m.ended != m.begun and g.under[m.ended % RING, 1] != 0
    for region in range(g.c.regions):
        ended = region_step(g, region, number if takes and its_region == region else -1, now)
        if ended:
            for place in range(m.ended, m.begun):
                if g.under[place % RING, 0] == region and g.under[place % RING, 1] == 0:
                    g.under[place % RING, 1] = 1
                    g.regions[region].running -= 1
                    break
    if complete:
        m.ended += 1
    if takes:
        g.under[m.begun % RING, 0] = its_region
        g.under[m.begun % RING, 1] = 0
        g.regions[its_region].running += 1
        m.begun += 1


@inlined
def _load(g: Gta, now: int) -> None:
    """A cycle from the memory to the lanes."""
    r = g.b.readers[OPERANDS]
    finished = deal(g, now)
    ask(g.walks[0], r)
    reader_step(g.b, OPERANDS)
    take_command(g, 0, LOAD, r.accepts != 0, finished)


@inlined
def _store(g: Gta, now: int) -> None:
    """A cycle from the lanes to the memory."""
    writer = g.b.writer[0]
    writer.beat = g.m[0].beat
    finished = gather(g, now)
    ask(g.walks[1], writer)
    writer_step(g.b, now)
    take_command(g, 1, STORE, writer.accepts != 0, finished)


@inlined
def _cycle(g: Gta, now: int) -> None:
    """A cycle: who takes something goes before who gives it."""
    b, m = g.b, g.m[0]
    m.waits = 0
    for kind in range(3):
        m.wants[kind] = wants(g, kind)
    _count(g, 1)
    stored = m.sent if writer_idle(b) else m.complete[STORE]
    data_step(b, now)
    _store(g, now)
    arbitrate(b, now)
    _load(g, now)
    check_step(g)
    reader_step(b, LIST)
    if b.readers[LIST].accepts:
        b.readers[LIST].asks = 0
    m.counts.wait_results += m.waits
    _execute(g, now)
    queues_step(g)
    m.complete[LOAD] += m.loaded
    m.complete[EXECUTE] = m.ended
    m.complete[STORE] = stored
    serve_dram(b, now)


@compiled
def _run(g: Gta, watch: Any, whole: bool) -> int:
    """The job's cycles, the first one being that in which it begins; negative if it never ends.

    ``whole``: leave none out.
    """
    m = g.m[0]
    # Work that begins in the first cycle is visible in the next one.
    now = 1
    while not _finished(g, now):
        still = 0 if whole else still_for(g, now)
        if still:
            for kind in range(3):
                m.wants[kind] = wants(g, kind)
            _count(g, still)
            leave_out(g, still)
            now += still
        _cycle(g, now)
        now += 1
        if looks(watch, now):
            moved = g.b.managers[0].sends_in + g.b.writer[0].answers_in + m.ended
            if stands_still(watch, now, moved):
                return -now
    # No EXECUTE runs in the first cycle, nor while the end is reported.
    m.counts.wait_list += 1 + _END
    return now + _END


def run_job(
    config: GtaConfig,
    job: Job,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 1.0,
    whole: bool = False,
) -> dict[str, int]:
    """The counters of ``TIMED`` of a job that ends well, by name.

    Parameters
    ----------
    memory: of each manager
    gigahertz: clock of the accelerator
    whole: simulate all cycles, also those in which nothing happens; to compare

    Raises RuntimeError as :func:`ended`.
    """
    g = set_up(config, job, memory, gigahertz)
    cycles = ended(_run(g, watch(_PATIENCE), whole))
    counts = g.m[0]["counts"]
    assert set(TIMED) <= set(COUNTERS)
    return {name: int(counts[name]) for name in TIMED} | {"cycles": cycles}
