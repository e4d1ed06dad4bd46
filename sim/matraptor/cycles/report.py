"""What the cycle model finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....hw.spec.c2sr import PAIR_BYTES
from ....hw.spec.matraptor import MatRaptorConfig
from .bound import Bound
from .state import State

__all__ = ["Cycles", "QueueOverflow", "report"]


class QueueOverflow(ValueError):
    """A row does not fit the queues. ``row``: its number."""

    def __init__(self, row: int, depth: int) -> None:
        super().__init__(f"row {row} must fit queues of {depth} entries")
        self.row = row


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


def report(
    config: MatRaptorConfig,
    machine: State,
    limit: Bound,
    rows: int,
    gigahertz: float,
    totals: list[int],
) -> Cycles:
    """Of a machine that has come to the end of a job with ``rows`` rows of C.

    ``totals``: cycles (negative if there was no end), first and last one with a product, cycles
    with a product.
    """
    cycles, first, last, busy = (int(total) for total in totals)
    if cycles < 0:
        raise AssertionError("the cycle model has come to a standstill")
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
