"""The requests of a run to its memory, as files that DRAM simulators read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

__all__ = ["Requests", "write_trace"]

_NANOSECONDS = 2
"""Clock period of the DRAM in DRAMsim3's configurations of HBM."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Requests:
    """Requests in the order in which memory got them.

    Parameters
    ----------
    cycle: of the accelerator, (count,)
    address: flat, of the first byte, (count,)
    size: in bytes, within a block of a channel, (count,)
    write: whether it writes, (count,)
    """

    cycle: npt.NDArray[np.int64]
    address: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    write: npt.NDArray[np.bool_]

    def accesses(self, access_bytes: int) -> tuple[Any, Any, Any]:
        """Returns cycle, address, and whether it writes, of each access: the aligned pieces of
        ``access_bytes`` bytes that the requests touch, in order."""
        first = self.address // access_bytes
        count = (self.address + self.size - 1) // access_bytes - first + 1
        starts = np.cumsum(count) - count
        number = np.arange(count.sum()) - np.repeat(starts, count)
        place = (np.repeat(first, count) + number) * access_bytes
        return np.repeat(self.cycle, count), place, np.repeat(self.write, count)


def write_trace(
    out: IO[bytes],
    jobs: Iterable[tuple[Requests, int]],
    layout: str,
    *,
    access_bytes: int,
    gigahertz: float,
) -> int:
    """Writes the accesses of jobs, one after the other; returns how many.

    A line for DRAMsim3 has address, READ or WRITE, and the cycle of the DRAM's clock of 2 ns; one
    for Ramulator address and R or W. Addresses are hexadecimal.

    Parameters
    ----------
    out: the file
    jobs: requests, and how many cycles the job took
    layout: "dramsim3" or "ramulator"
    access_bytes: size of an access
    gigahertz: clock of the accelerator
    """
    timed = layout == "dramsim3"
    names = ("READ", "WRITE") if timed else ("R", "W")
    begins, total = 0, 0
    for requests, cycles in jobs:
        cycle, address, writes = requests.accesses(access_bytes)
        moments = ((begins + cycle) / (gigahertz * _NANOSECONDS)).astype(np.int64)
        for moment, place, does in zip(
            moments.tolist(), address.tolist(), writes.tolist(), strict=True
        ):
            when = f" {moment}" if timed else ""
            out.write(f"0x{place:x} {names[does]}{when}\n".encode())
        begins += cycles
        total += len(moments)
    return total
