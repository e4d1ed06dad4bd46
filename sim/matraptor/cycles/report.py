"""The report of the cycle model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....hw.spec.c2sr import PAIR_BYTES
from ....hw.spec.matraptor import MatRaptorConfig
from ...timing.bound_broken import BoundBroken
from .bound import Bound
from .breakdown import IDLE, REASONS, START
from .state import Latency, State

__all__ = ["Cycles", "QueueOverflow", "entries_of_c", "report"]


Ints = npt.NDArray[np.int64]


class QueueOverflow(ValueError):
    """A row does not fit the queues. ``row``: its number."""

    def __init__(self, row: int, depth: int) -> None:
        super().__init__(f"row {row} must fit queues of {depth} entries")
        self.row = row


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """The cost of a product. The first group has the names and meanings of the RTL's counters.

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
    memory_read, memory_written: bytes that the memory was to move, by channel: whole accesses; of
        a flat one, whole beats
    lane_cycles: what the cycles of all lanes went to, by ``REASONS`` of
        ``sim/matraptor/cycles/breakdown.py``; their sum is ``lanes * cycles``
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
    memory_read: tuple[int, ...]
    memory_written: tuple[int, ...]
    lane_cycles: dict[str, int]

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
        memory_read=tuple(machine.channels["read"].tolist()),
        memory_written=tuple(machine.channels["written"].tolist()),
        lane_cycles=_lane_cycles(machine, cycles, times),
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
