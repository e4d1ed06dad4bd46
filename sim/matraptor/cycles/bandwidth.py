"""Bandwidth at which lanes read a matrix from memory, in CSR and in C2SR.

Source: MatRaptor, section on bandwidth utilisation: as many lanes as channels, each reading its
rows; from CSR by the element, since its rows lie anywhere across the channels, from C2SR by blocks
of the channel that is the lane's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...timing.compiled import compiled
from ...timing.dram import HBM, Channels, MemoryModel, Timing, channels, push, serve, timing
from .plan import canonical, starts

__all__ = ["Bandwidth", "bandwidth"]

_ELEMENT = 8
_BLOCK = 64
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Bandwidth:
    """The bandwidth that was reached.

    Parameters
    ----------
    gigabytes: of the matrix's bytes, in GB/s, all lanes together
    peak: of all channels
    """

    gigabytes: float
    peak: float

    @property
    def fraction(self) -> float:
        return self.gigabytes / self.peak


@compiled
def _stream(
    time: Timing,
    state: Channels,
    first: Ints,
    channel_of: Ints,
    page_of: Ints,
    accesses: int,
    outstanding: int,
    queue: int,
    waiting: Ints,
    next_one: Ints,
) -> int:
    """Each lane sends its requests in order, one a cycle, up to ``outstanding`` under way; each is
    ``accesses`` to one page.

    ``waiting``: [lane, place], when each of a lane's answers comes; ``next_one``: [lane], its next
    request. Returns the last answer's cycle.
    """
    lanes = len(first) - 1
    number = len(state.count)
    under_way = waiting.shape[1]
    done = 0
    end, now = 0, 0
    while done < first[lanes]:
        for channel in range(number):
            tag, _, ready = serve(time, state, channel, float(now))
            if tag >= 0:
                cycle = int(ready + time.controller) + 1
                waiting[tag // under_way, tag % under_way] = cycle
                end = max(end, cycle)
                done += 1
        for step in range(lanes):
            # Lanes take turns at being first.
            lane = (now + step) % lanes
            request = next_one[lane]
            place = (request - first[lane]) % outstanding
            if request == first[lane + 1] or waiting[lane, place] > now:
                continue
            channel = channel_of[request]
            if state.count[channel, 0] >= queue:
                continue
            waiting[lane, place] = 1 << 60
            push(state, channel, 0, page_of[request], accesses, lane * under_way + place)
            next_one[lane] = request + 1
        now += 1
    return end


def _csr(matrix: Any, lanes: int) -> list[Ints]:
    """Flat addresses of the elements of each lane's rows."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    addresses = np.arange(matrix.nnz, dtype=np.int64) * _ELEMENT
    return [addresses[rows % lanes == lane] for lane in range(lanes)]


def _c2sr(matrix: Any, lanes: int) -> list[Ints]:
    """Flat addresses of the blocks of each lane's channel."""
    lengths = np.diff(matrix.indptr)
    found = []
    for lane in range(lanes):
        blocks = -(-int(lengths[lane::lanes].sum()) * _ELEMENT // _BLOCK)
        found.append((np.arange(blocks, dtype=np.int64) * lanes + lane) * _BLOCK)
    return found


def bandwidth(
    matrix: Any,
    lanes: int,
    layout: str,
    *,
    memory: MemoryModel = HBM,
    gigahertz: float = 2.0,
    outstanding: int = 64,
) -> Bandwidth:
    """Simulates ``lanes`` lanes that read a matrix in ``layout`` "csr" or "c2sr" from as many
    channels.

    Memory is interleaved by 64 bytes; an element is 8 bytes. Raises ValueError for another layout,
    a flat memory, or a matrix without entries.
    """
    if layout not in ("csr", "c2sr"):
        raise ValueError(f'`layout` must be "csr" or "c2sr", not {layout!r}')
    if memory.flat:
        raise ValueError("`memory` must have banks")
    matrix = canonical(matrix)
    if not matrix.nnz:
        raise ValueError("`matrix` must have entries")
    requests, size = (_csr, _ELEMENT) if layout == "csr" else (_c2sr, _BLOCK)
    addresses = requests(matrix, lanes)
    flat = np.concatenate(addresses)
    block = flat // _BLOCK
    local = block // lanes * _BLOCK + flat % _BLOCK
    first = starts([len(own) for own in addresses])
    cycles = _stream(
        timing(memory, gigahertz),
        channels(memory, lanes),
        first,
        block % lanes,
        local // memory.page_bytes,
        max(1, size // memory.access_bytes),
        outstanding,
        memory.read_queue,
        np.zeros((lanes, outstanding), np.int64),
        first[:-1].copy(),
    )
    nanoseconds = cycles / gigahertz
    return Bandwidth(gigabytes=matrix.nnz * _ELEMENT / nanoseconds, peak=lanes * memory.gigabytes)
