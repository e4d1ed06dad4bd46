"""Cycle model of the MatRaptor accelerator: how long a product takes, and what it moves.

Every cycle of every lane is stepped through, on the structure of the matrices alone; values do not
matter. Source: MatRaptor, sections on the architecture and the experimental setup.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....hw.spec.c2sr import PAIR_BYTES
from ....hw.spec.jobs.matraptor import CACHE_COUNTERS
from ....hw.spec.matraptor import MatRaptorConfig
from ...timing.bound_broken import BoundBroken
from ...timing.compiled import compiled, inlined
from ...timing.dram import FLAT, MemoryModel
from ...timing.requests import Requests
from .bound import Bound, bound, by_rows
from .bus import VALUES, bus, bus_step
from .cache_contents import Contents, contents, forget
from .csr import load_stream
from .element import emit, merge, multiply, offer
from .loaders import NOTHING, asked, has_left, load_a, load_b
from .plan import Places, Plan, canonical, packed, plan
from .reasons import (
    A_WAIT,
    B_PAIRS,
    B_ROWS,
    CONFLICT,
    DRAIN,
    IDLE,
    PRODUCT,
    REASONS,
    ROW_END,
    START,
)
from .request_log import logged, with_log
from .state import Latency, Shape, State, begin, latency, state
from .writers import write_rows

Ints = npt.NDArray[np.int64]
_WALK = 0
"""Cycles from the first step of the lanes to the first one of the walk over a cache's sets."""


class QueueOverflow(ValueError):
    """A row does not fit the queues. ``row``: its number; ``cycles``: until a queue was full."""

    def __init__(self, row: int, depth: int, cycles: int) -> None:
        super().__init__(f"row {row} must fit queues of {depth} entries")
        self.row, self.cycles = row, cycles


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """The cost of a product. The first group has the names and meanings of the RTL's counters.

    Parameters
    ----------
    cycles: from start to done
    busy_cycles: in which a lane takes a product
    stalls: between the first and the last product, in which none does
    operations: products
    bytes_*: of all beats read over the bus, or by the lanes (of B); of all bytes written
    conflicts: requests that waited for another lane's, summed over cycles
    merge_steps: entries moved in the merges of phase I
    results: entries of C
    lane_busy_max, lane_busy_min: products of the busiest and of the least busy lane
    cache_*: of the cache of B, 0 without one
    gigahertz: the clock
    bound: what the job cannot beat
    memory_read, memory_written: bytes that the memory was to move, by channel: whole accesses; of
        a flat one, whole beats
    lane_cycles: what the cycles of all lanes went to, by ``REASONS`` of
        ``sim/matraptor/cycles/state.py``; their sum is ``lanes * cycles``
    requests: to memory, if they were asked for
    """

    cycles: int
    busy_cycles: int
    stalls: int
    operations: int
    bytes_read: int
    bytes_written: int
    bytes_a_pairs: int
    bytes_a_entries: int
    bytes_b_pairs: int
    bytes_b_entries: int
    bytes_c_pairs: int
    bytes_c_entries: int
    conflicts: int
    merge_steps: int
    results: int
    lane_busy_max: int
    lane_busy_min: int
    cache_hits: int
    cache_misses: int
    cache_merged: int
    cache_evictions: int
    lanes: int
    gigahertz: float
    bound: Bound
    memory_read: tuple[int, ...]
    memory_written: tuple[int, ...]
    lane_cycles: dict[str, int]
    requests: Requests | None

    @property
    def microseconds(self) -> float:
        return self.cycles / self.gigahertz / 1000

    @property
    def ratio(self) -> float:
        """Cycles over those of the bound."""
        return self.cycles / self.bound.cycles if self.bound.cycles else float("inf")

    @property
    def bandwidth_utilisation(self) -> float:
        """Compulsory bytes over what the memory could move in the time."""
        memory = self.bound.memory
        return memory.bytes / (memory.peak * self.cycles)

    @property
    def memory_bytes(self) -> int:
        """Bytes that the memory moved before the job was done, at least."""
        memory = self.bound.memory
        late = memory.late * memory.piece_bytes
        return sum(self.memory_read) + sum(max(0, b - late) for b in self.memory_written)

    @property
    def multiplier_utilisation(self) -> float:
        return self.operations / (self.lanes * self.cycles)

    @property
    def load_imbalance(self) -> float:
        """Products of the busiest lane over the mean."""
        mean = self.operations / self.lanes
        return self.lane_busy_max / mean if mean else 1.0


def entries_of_c(machine: State) -> Ints:
    """Returns the entries of C by lane and channel, the order of `bound`."""
    result: Ints = machine.pointer.T.reshape(-1)
    return result


def report(
    config: MatRaptorConfig,
    machine: State,
    limit: Bound,
    rows: int,
    gigahertz: float,
    times: Latency,
    totals: list[int],
) -> Cycles:
    """Makes the report of a machine at the end of a job with ``rows`` rows of C.

    ``totals``: cycles (negative if there was no end), first and last one with a product, cycles
    with a product. Raises :class:`BoundBroken`, which no job of a model that is right does.
    """
    cycles, first, last, busy = (int(total) for total in totals)
    if cycles < 0:
        raise AssertionError("the cycle model has come to a standstill")
    if cycles < limit.cycles:
        raise BoundBroken(cycles, limit.cycles)
    lanes = machine.lanes
    products = lanes["products"][: config.lanes]
    sums = {name: int(lanes[name].sum()) for name in ("conflicts", "merge_steps", "results")}
    moved = machine.readers["bytes"]
    values = moved[:, VALUES]
    read = [int(total) for total in moved[:, :VALUES].sum(axis=0)]
    read[1] += int(values[config.lanes :].sum())
    read[3] += int(values[: config.lanes].sum())
    blocks = int(machine.caches["misses"].sum()) * config.interleave
    written = (rows * PAIR_BYTES, sums["results"] * config.layout.entry_bytes)
    return Cycles(
        cycles=cycles,
        busy_cycles=busy,
        stalls=last - first + 1 - busy if first >= 0 else 0,
        operations=int(lanes["products"].sum()),
        bytes_read=sum(read[:2]) + blocks if config.cache_bytes else sum(read),
        bytes_written=sum(written),
        bytes_a_pairs=read[0],
        bytes_a_entries=read[1],
        bytes_b_pairs=read[2],
        bytes_b_entries=read[3],
        bytes_c_pairs=written[0],
        bytes_c_entries=written[1],
        **sums,
        lane_busy_max=int(np.max(products)),
        lane_busy_min=int(np.min(products)),
        **{name: int(machine.caches[name[6:]].sum()) for name in CACHE_COUNTERS},
        lanes=config.lanes,
        gigahertz=gigahertz,
        bound=limit,
        memory_read=tuple(machine.channels["read"].tolist()),
        memory_written=tuple(machine.channels["written"].tolist()),
        lane_cycles=_lane_cycles(machine, cycles, times),
        requests=None,
    )


def _lane_cycles(machine: State, cycles: int, times: Latency) -> dict[str, int]:
    """Returns the cycles of all lanes by reason; those before the model's first step are ``start``,
    those after its last one ``idle``."""
    spent = machine.spent.copy()
    spent[:, START] += times.start
    spent[:, IDLE] += times.finish - 1
    if (spent.sum(axis=1) != cycles).any():
        raise AssertionError(f"every lane must have {cycles} cycles, not {spent.sum(axis=1)}")
    return dict(zip(REASONS, spent.sum(axis=0).tolist(), strict=True))


@inlined
def _missing(s: State, lane: int, fed: int, now: int) -> int:
    """Returns the reason for which a multiplier with room for a product waits."""
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


class Cache(NamedTuple):
    """The cache of B at a job's start.

    ``contents``: of all channels; ``kept``: whether they stay, else all blocks are dropped first;
    ``bases``: flat addresses of the arrays of A, B and C, multiples of a stripe, or None for any.
    """

    contents: Contents
    kept: bool
    bases: tuple[int, ...] | None


def set_up(
    config: MatRaptorConfig, work: Plan, latencies: Latency | None, cache: Cache | None
) -> tuple[State, Plan]:
    """Returns a machine before a job, and the job with the addresses that its cache sees."""
    kept = cache.contents if cache else contents(config)
    machine = state(config, kept)
    if not cache or not cache.kept:
        forget(kept)
        # The walk over the sets begins a cycle after the job.
        first = latency(config, latencies).start + _WALK
        machine.caches["ready_at"] = first + config.cache_sets
    if cache and cache.bases:
        stripe = config.geometry.stripe_bytes
        bases = np.array(cache.bases, np.int64) // stripe * config.interleave
        work = work._replace(bases=bases)
    return machine, work


@compiled
def _run(c: Shape, s: State, d: Any, dram: Any, p: Plan, t: Latency, most: int) -> Any:
    """Step until all lanes have finished. Returns (cycles, first product, last product, cycles
    with a product, lane with a full queue or -1)."""
    first, last, busy = -1, -1, 0
    for now in range(t.start, most):
        bus_step(c, s, d, dram, t, now)
        finished, products = 0, 0
        for lane in range(c.lanes):
            if s.lanes[lane].finished:
                finished += 1
                s.spent[lane, IDLE] += 1
                continue
            results = s.lanes[lane].results_made - s.lanes[lane].results_out
            write_rows(c, s, p, t, lane, now)
            waiting = s.lanes[lane].products_made - s.lanes[lane].products_out
            if not merge(c, s, p, t, lane, now):
                return now, first, last, busy, lane
            before = s.lanes[lane].multiplied
            took = multiply(s, t, lane, waiting)
            products += took
            account(s, lane, waiting, took, s.lanes[lane].multiplied > before, 0, now)
            emit(c, s, t, lane, now, results)
            token = asked(s, t, lane)
            offered = has_left(c, s, lane, token, now)
            held = s.lanes[lane].products_in > s.lanes[lane].multiplied
            sent = load_b(c, s, p, t, lane, now, offered, held)
            if sent != NOTHING:
                offer(s, lane, sent & 1)
            if not c.a_csr:
                load_a(c, s, p, t, lane, now, token)
        if c.a_csr:
            load_stream(c, s, p, t, now)
        if products:
            busy += 1
            last = now
            if first < 0:
                first = now
        if finished == c.lanes and now >= s.caches[0].ready_at:
            return now + t.finish, first, last, busy, -1
    return -1, first, last, busy, -1


def simulate(
    config: MatRaptorConfig,
    a: Any,
    b: Any,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 2.0,
    latencies: Latency | None = None,
    places: Places | None = None,
    cache: Cache | None = None,
    log: bool = False,
    columns: tuple[int, int] | None = None,
) -> Cycles:
    """Multiply sparse matrices in the cycle model.

    Parameters
    ----------
    config: of the accelerator
    a, b: (rows, inner), (inner, columns), anything that SciPy makes a sparse array of; duplicates
        count once
    memory: each channel's
    gigahertz: clock of the accelerator
    latencies: of its parts, if not those of the hardware
    places: where the rows of a and b are, if there is anything between them, or if they are in CSR
    cache: what the cache of B has kept, changed by the job; None: nothing, as after a reset
    log: whether the result has the requests to memory
    columns: begin and end of the job's range of columns; None: it has none

    Raises
    ------
    ValueError if the shapes do not fit; :class:`QueueOverflow` if a row does not fit the queues;
    :class:`BoundBroken` if the model is wrong.
    """
    a, b = canonical(a), canonical(b)
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"`b` must have {a.shape[1]} rows, not {b.shape[0]}")
    places = places or packed(a, b, config.channels)
    work = plan(config, a, b, places, columns=columns)
    machine, work = set_up(config, work, latencies, cache)
    needed = by_rows(config, a, b, places, columns)
    begin(machine, work, needed.products)
    if log:
        machine = with_log(machine, needed.most_requests)
    times = latency(config, latencies)
    # Far more than any job takes.
    read = int(needed.uses @ needed.right_lengths)
    most = 10_000 + 2_000 * (a.nnz + a.shape[0] + read)
    numbers, dram, timings = bus(config, memory, gigahertz)
    numbers = numbers._replace(
        ranged=int(columns is not None),
        a_csr=int("a" in places.csr.lower()),
        b_csr=int("b" in places.csr.lower()),
        a_apart=int("A" in places.csr),
        b_apart=int("B" in places.csr),
    )
    *totals, full = _run(numbers, machine, dram, timings, work, times, most)
    if full >= 0:
        row = machine.lanes[full]["merge_row"]
        raise QueueOverflow(int(work.row_number[row]), config.queue_depth, int(totals[0]))
    kept = cache is not None and cache.kept
    limit = bound(config, needed, entries_of_c(machine), memory, gigahertz, kept=kept)
    found = report(config, machine, limit, a.shape[0], gigahertz, times, totals)
    return replace(found, requests=logged(machine, numbers)) if log else found
