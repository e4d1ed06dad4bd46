"""Cycle model of the MatRaptor accelerator: how long a product takes, and what it moves.

Every cycle of every lane is stepped through, on the structure of the matrices alone; values do not
matter. Source: MatRaptor, sections on the architecture and the experimental setup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..hw.spec.c2sr import PAIR_BYTES
from ..hw.spec.matraptor import MatRaptorConfig
from .compiled import compiled
from .dram import FLAT, MemoryModel, channels, timing
from .matraptor_cycles_bound import Bound, bound
from .matraptor_cycles_bus import bus_step
from .matraptor_cycles_loaders import load_a, load_b
from .matraptor_cycles_pe import emit, merge, multiply
from .matraptor_cycles_plan import Plan, canonical, plan
from .matraptor_cycles_state import Latency, Shape, State, begin, latency, shape, state
from .matraptor_cycles_writer import write_rows

__all__ = ["Cycles", "QueueOverflow", "simulate"]


class QueueOverflow(ValueError):
    """A row does not fit the queues. ``row``: its number."""

    def __init__(self, row: int, depth: int) -> None:
        super().__init__(f"row {row} must fit queues of {depth} entries")
        self.row = row


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
                continue
            taken = write_rows(c, s, p, t, lane, now)
            waiting = s.lanes[lane].products_made - s.lanes[lane].products_out
            if not merge(c, s, p, t, lane, now):
                return now, first, last, busy, lane
            products += multiply(s, t, lane, waiting)
            emit(c, s, t, lane, now, taken)
            load_b(c, s, p, t, lane, now)
            load_a(c, s, p, t, lane, now)
        if products:
            busy += 1
            last = now
            if first < 0:
                first = now
        if finished == c.lanes:
            return now + t.finish, first, last, busy, -1
    return -1, first, last, busy, -1


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """What a product takes. The first group has the names and meanings of the RTL's counters.

    Parameters
    ----------
    cycles: from start to done
    busy_cycles: in which a lane takes a product
    stalls: between the first and the last product, in which none does
    operations: products
    bytes_*: of all beats read; of all bytes written
    conflicts: requests that waited for another lane's, summed over cycles
    merge_steps: entries moved in the merges of phase I
    results: entries of C
    lane_busy_max, lane_busy_min: products of the busiest and of the least busy lane
    gigahertz: the clock
    bound: what the job cannot beat
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
    lanes: int
    gigahertz: float
    bound: Bound

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
        return self.bound.memory_cycles / self.cycles

    @property
    def multiplier_utilisation(self) -> float:
        return self.operations / (self.lanes * self.cycles)

    @property
    def load_imbalance(self) -> float:
        """Products of the busiest lane over the mean."""
        mean = self.operations / self.lanes
        return self.lane_busy_max / mean if mean else 1.0


def simulate(
    config: MatRaptorConfig,
    a: Any,
    b: Any,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 2.0,
    latencies: Latency | None = None,
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

    Raises
    ------
    ValueError if the shapes do not fit; :class:`QueueOverflow` if a row does not fit the queues.
    """
    a, b = canonical(a), canonical(b)
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"`b` must have {a.shape[1]} rows, not {b.shape[0]}")
    if not memory.flat and memory.page_bytes < config.interleave:
        raise ValueError(
            f"`page_bytes` must be at least `interleave`, {config.interleave}, "
            f"not {memory.page_bytes}"
        )
    work = plan(config, a, b)
    numbers, machine = shape(config, memory), state(config)
    begin(machine, work)
    times = latencies or latency(config)
    if max(times.multiply, times.result) > 60:
        raise ValueError("pipelines must have at most 60 stages")
    products = int(work.b_length[a.indices].sum())
    # Far more than any job takes.
    most = 10_000 + 2_000 * (a.nnz + a.shape[0] + products)
    dram, timings = channels(memory, config.channels), timing(memory, gigahertz)
    cycles, first, last, busy, full = _run(numbers, machine, dram, timings, work, times, most)
    if full >= 0:
        row = machine.lanes[full]["merge_row"]
        raise QueueOverflow(int(work.row_number[row]), config.queue_depth)
    if cycles < 0:
        raise AssertionError("the cycle model has come to a standstill")
    results = int(machine.lanes["results"].sum())
    limit = bound(config, a, b, memory, gigahertz, results)
    return _report(config, machine, limit, a.shape[0], gigahertz, (cycles, first, last, busy))


def _report(
    config: MatRaptorConfig,
    machine: State,
    limit: Bound,
    rows: int,
    gigahertz: float,
    totals: tuple[int, int, int, int],
) -> Cycles:
    cycles, first, last, busy = (int(total) for total in totals)
    lanes = machine.lanes
    sums = {name: int(lanes[name].sum()) for name in ("conflicts", "merge_steps", "results")}
    read = [int(total) for total in machine.readers["bytes"].sum(axis=0)]
    written = (rows * PAIR_BYTES, sums["results"] * config.layout.entry_bytes)
    return Cycles(
        cycles=cycles,
        busy_cycles=busy,
        stalls=last - first + 1 - busy if first >= 0 else 0,
        operations=int(lanes["products"].sum()),
        bytes_read=sum(read),
        bytes_written=sum(written),
        bytes_a_pairs=read[0],
        bytes_a_entries=read[1],
        bytes_b_pairs=read[2],
        bytes_b_entries=read[3],
        bytes_c_pairs=written[0],
        bytes_c_entries=written[1],
        **sums,
        lane_busy_max=int(np.max(lanes["products"])),
        lane_busy_min=int(np.min(lanes["products"])),
        lanes=config.lanes,
        gigahertz=gigahertz,
        bound=limit,
    )
