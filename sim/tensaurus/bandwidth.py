"""Bandwidth at which elements read a sparse tensor from a channel, in CISS and in extended CSR.

Source: Tensaurus, section on the sparse format, figure 4.3: elements that each work on slices of
their own. From extended CSR each reads its slices value by value, and they lie anywhere; from CISS
one reader brings an entry, a slot for each element, by the blocks of one stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...hw.spec.ciss import CissLayout
from ...hw.spec.host.words import not_one_of
from ..sparse.ciss import assign, from_tensor
from ..sparse.tensor import Tensor
from ..timing.compiled import compiled
from ..timing.dram import HBM, Channels, MemoryModel, Timing, channels, push, serve, timing

__all__ = ["FORMATS", "Bandwidth", "bandwidth"]

FORMATS = ("ciss", "csr")

_BLOCK = 64
_POINTER = 4
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Bandwidth:
    """The bandwidth that was reached, in GB/s.

    Parameters
    ----------
    gigabytes: of what the format has in memory: all of a CISS stream, headers and no-ops included;
        values and indices of extended CSR
    values: of values and indices alone
    peak: of the channel
    """

    gigabytes: float
    values: float
    peak: float

    @property
    def fraction(self) -> float:
        return self.gigabytes / self.peak


@compiled
def _stream(
    time: Timing,
    state: Channels,
    first: Ints,
    page_of: Ints,
    accesses: int,
    outstanding: int,
    queue: int,
    block: int,
    entry: int,
    answered: Ints,
    next_one: Ints,
    oldest: Ints,
) -> int:
    """Each reader sends its requests in order, one a cycle in all, with up to ``outstanding`` that
    were not taken; takes the answers in order, one a cycle; and from their ``block`` bytes cuts
    an ``entry`` a cycle (0: an answer is an entry).

    ``answered``: when each answer comes, something large at first; ``next_one``, ``oldest``:
    [reader], its next request, and the first one that was not taken. Returns the last cycle.
    """
    readers = len(first) - 1
    done, level = 0, 0
    now = 0
    while done < first[readers] or (entry > 0 and level >= entry):
        tag, _, ready = serve(time, state, 0, float(now))
        if tag >= 0:
            answered[tag] = int(ready + time.controller) + 1
        if entry > 0 and level >= entry:
            level -= entry
        for reader in range(readers):
            place = oldest[reader]
            if place < next_one[reader] and answered[place] <= now and level < max(entry, 1):
                oldest[reader] = place + 1
                done += 1
                if entry > 0:
                    level += block
        for step in range(readers):
            # Readers take turns at being first.
            reader = (now + step) % readers
            request = next_one[reader]
            if request == first[reader + 1] or request - oldest[reader] >= outstanding:
                continue
            if state.count[0, 0] < queue:
                push(state, 0, 0, page_of[request], accesses, request)
                next_one[reader] = request + 1
                break
        now += 1
    return now


def _blocks(begin: Ints, end: Ints, block: int) -> Ints:
    """Numbers of the blocks that each of these bytes are in, one or two of each."""
    low, high = begin // block, (end - 1) // block
    both = np.stack([low, high], axis=1).reshape(-1)
    wanted: Ints = both[np.stack([np.ones(len(low), np.bool_), high != low], axis=1).reshape(-1)]
    return wanted


def _csr(lengths: Ints, layout: CissLayout, block: int) -> list[Ints]:
    """Blocks that each element reads: of each of its slices the two pointers, then the values."""
    at, _ = assign(lengths, layout.rows)
    element = at % layout.rows
    pointers = (len(lengths) + 1) * _POINTER
    begins = np.concatenate([[0], np.cumsum(lengths)])
    found = []
    for number in range(layout.rows):
        own = []
        for slice_ in np.flatnonzero(element == number):
            place = np.arange(begins[slice_], begins[slice_ + 1]) * layout.slot_bytes + pointers
            begin = np.concatenate([[slice_ * _POINTER], place])
            size = np.full(len(begin), layout.slot_bytes)
            size[0] = 2 * _POINTER
            own.append(_blocks(begin, begin + size, block))
        found.append(np.concatenate([np.zeros(0, np.int64), *own]))
    return found


def bandwidth(
    tensor: Tensor,
    elements: int,
    name: str,
    *,
    memory: MemoryModel = HBM,
    gigahertz: float = 2.0,
    outstanding: int = 64,
) -> Bandwidth:
    """Simulates so many elements that read a tensor in a format of ``FORMATS``, with 32-bit values
    and indices.

    An access of CISS is a block of 64 bytes, of extended CSR the least that memory moves. Raises
    ValueError for another format, a flat memory, or a tensor without a value in some slice.
    """
    if name not in FORMATS:
        raise ValueError(not_one_of("`name`", FORMATS, name))
    if memory.flat:
        raise ValueError("`memory` must have banks")
    layout = CissLayout(rows=elements, order=tensor.order)
    stream = from_tensor(tensor, layout)
    if not stream.nnz:
        raise ValueError("`tensor` must have values")
    block = _BLOCK if name == "ciss" else memory.access_bytes
    if name == "ciss":
        size = stream.entries * layout.entry_bytes
        requests = [np.arange(-(-size // block), dtype=np.int64)]
    else:
        size = stream.nnz * layout.slot_bytes
        lengths = np.bincount(tensor.indices[:, 0], minlength=tensor.shape[0])
        requests = _csr(lengths[lengths > 0], layout, block)
    flat = np.concatenate(requests)
    first = np.concatenate([[0], np.cumsum([len(own) for own in requests])]).astype(np.int64)
    cycles = _stream(
        timing(memory, gigahertz),
        channels(memory, 1),
        first,
        flat * block // memory.page_bytes,
        max(1, block // memory.access_bytes),
        outstanding,
        memory.read_queue,
        block,
        layout.entry_bytes if name == "ciss" else 0,
        np.full(len(flat), 1 << 60),
        first[:-1].copy(),
        first[:-1].copy(),
    )
    nanoseconds = cycles / gigahertz
    return Bandwidth(
        gigabytes=size / nanoseconds,
        values=stream.nnz * layout.slot_bytes / nanoseconds,
        peak=memory.gigabytes,
    )
