"""Lower bound of a job's cycles: the traffic of its memory, and the multiplications of its lanes.

A memory channel moves data in pieces, and so does the port before it; a piece takes its time, moves
whole, and lies in one channel: where is known, for the operands are in C2SR. Of a job it is certain

1. that row ``i`` of C is of lane ``i % lanes``, which takes at most one product in a cycle;
2. that every piece with a word of the left operand's that the job uses is read, once at least (a
   lane holds a piece for the rows that follow in it, so that it may well be once);
3. that whenever a row of B is used (by rows: for every entry of A; by outer products: for every
   lane with entries in a column of A) its pair and each piece of its entries are read, for no lane
   keeps a row of B longer than for that use, nor shares it; with a range of columns the whole row
   is read, for only its entries tell which of them are in the range
   (with a cache of B: read once at least, or never if it has kept them from the job before);
4. that every piece with a word of C is written, once at least;
5. that all of 2 and 3 has come, and that memory has answered all of 4, before the job is done.

So each lane needs a cycle for each of its products, each port a cycle for each beat in either
direction (a port reads and writes at the same time), and each channel of a DRAM, which does one
thing at a time, the time of all its pieces, except of the last ones that are written: it
answers a write as soon as that is in its queue. No more can be left than fill the queue, than the
controller may decide ahead (within the time of a precharge and an activate), and one request. The
bound is the largest of these times, over all lanes, ports and channels. It leaves out every
latency, every dependence and every bank; the cycle model and the RTL have them, so that they are
above it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ....hw.spec.c2sr import PAIR_BYTES, POINTER_BYTES
from ....hw.spec.matraptor import MatRaptorConfig
from ...timing.dram import MemoryModel, timing
from .plan import Places, in_range

__all__ = ["Bound", "Demand", "Work", "bound", "by_rows"]

Ints = npt.NDArray[np.int64]
Counts = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The traffic through each port, or each channel's memory.

    Parameters
    ----------
    piece_bytes: what is moved at a time
    piece_cycles: and how long it takes
    both_ways: whether reads and writes pass at the same time
    late: pieces of a channel that may still have to be written when the job is done
    reads, writes: pieces, by channel
    reads_once: the same of reads if a piece of B were read once, however often it is used
    """

    piece_bytes: int
    piece_cycles: float
    both_ways: bool
    late: int
    reads: Counts
    writes: Counts
    reads_once: Counts

    @property
    def bytes(self) -> int:
        """Bytes that are moved before the job is done."""
        return (sum(self.reads) + sum(self._due)) * self.piece_bytes

    @property
    def peak(self) -> float:
        """Bytes a cycle of all channels, in all directions."""
        ways = 2 if self.both_ways else 1
        return len(self.reads) * ways * self.piece_bytes / self.piece_cycles

    @property
    def cycles(self) -> float:
        """Cycles of the channel that has the most to move."""
        return max(self._each(self.reads))

    @property
    def cycles_once(self) -> float:
        """The same if a piece of B were read once."""
        return max(self._each(self.reads_once))

    @property
    def cycles_even(self) -> float:
        """If all channels had as much to move."""
        channels = len(self.reads)
        if self.both_ways:
            return max(sum(self.reads), sum(self.writes)) / channels * self.piece_cycles
        return sum(self._each(self.reads)) / channels

    @property
    def _due(self) -> list[int]:
        """Pieces that have been written when the job is done, at least, by channel."""
        return [max(0, written - self.late) for written in self.writes]

    def _each(self, reads: Iterable[int]) -> list[float]:
        """Cycles of every channel."""
        both = zip(reads, self._due, strict=True)
        pieces = (max(r, w) if self.both_ways else r + w for r, w in both)
        return [count * self.piece_cycles for count in pieces]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The largest of what ports, channels and lanes need; the module says why.

    Parameters
    ----------
    port: of the channels' ports, in beats
    dram: of the channels' memories, in accesses; None if these are flat
    products: by lane
    """

    port: Demand
    dram: Demand | None
    products: Counts

    @property
    def memory(self) -> Demand:
        """The traffic of the channels' memories; flat ones are as fast as their ports."""
        return self.dram or self.port

    @property
    def operations(self) -> int:
        return sum(self.products)

    @property
    def memory_cycles(self) -> float:
        return max(demand.cycles for demand in self._demands)

    @property
    def product_cycles(self) -> float:
        return max(self.products)

    @property
    def cycles(self) -> float:
        return max(self.memory_cycles, self.product_cycles)

    @property
    def cycles_even(self) -> float:
        """If all channels had as much to move, and all lanes as much to multiply."""
        lanes = self.operations / len(self.products)
        return max(lanes, *(demand.cycles_even for demand in self._demands))

    @property
    def cycles_once(self) -> float:
        """If every piece of B were read once."""
        return max(self.product_cycles, *(demand.cycles_once for demand in self._demands))

    @property
    def _demands(self) -> tuple[Demand, ...]:
        return (self.port,) if self.dram is None else (self.port, self.dram)


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """The reads, multiplications and writes of a job.

    Parameters
    ----------
    left_rows: numbers of the rows of the left operand, as it is stored, whose pairs are read
    left_lengths, left_pointers: of all its rows
    right_lengths, right_pointers: of B's
    uses: how often each row of B is used
    products: by lane
    rows: of C
    csr: which of the operands are in CSR, see ``Places``; pointers of these are those of CSR
    words: bytes of the words of their entries, of the left one and of B
    """

    left_rows: Ints
    left_lengths: Ints
    left_pointers: Ints
    right_lengths: Ints
    right_pointers: Ints
    uses: Ints
    products: Counts
    rows: int
    csr: str = ""
    words: tuple[tuple[int, ...], ...] = ()

    @property
    def most_requests(self) -> int:
        """Bounds the requests to memory: a row of n entries is in at most n + 1 blocks, and so is
        what is written of it."""
        entries, used = int(self.left_lengths.sum()), int(self.uses.sum())
        rows = 4 * len(self.left_rows) + 2 * self.rows
        of_b = max(sum(self.products), int(self.uses @ self.right_lengths))
        return 2 * (of_b + used + entries) + rows


def by_rows(
    config: MatRaptorConfig,
    a: csr_array,
    b: csr_array,
    places: Places,
    columns: tuple[int, int] | None = None,
) -> Work:
    """Returns the work of a row-wise product of canonical CSR arrays that lie at ``places``;
    ``columns``: begin and end of its range, None: all."""
    lengths, row = np.diff(b.indptr).astype(np.int64), np.arange(a.shape[0])
    lane = np.repeat(row % config.lanes, np.diff(a.indptr))
    _, inside = in_range(b, columns)
    products = np.bincount(lane, inside[a.indices], config.lanes).astype(np.int64)
    return Work(
        left_rows=row,
        left_lengths=np.diff(a.indptr).astype(np.int64),
        left_pointers=places.left,
        right_lengths=lengths,
        right_pointers=places.right,
        uses=np.bincount(a.indices, minlength=a.shape[1]),
        products=tuple(products.tolist()),
        rows=a.shape[0],
        csr=places.csr.lower(),
        words=tuple(places.words(name, config) for name in "ab"),
    )


def bound(
    config: MatRaptorConfig,
    work: Work,
    entries: Ints,
    memory: MemoryModel,
    gigahertz: float,
    *,
    kept: bool = False,
) -> Bound:
    """Computes the bound of a job.

    Parameters
    ----------
    entries: of C, by lane and channel: those of the rows ``i`` with the same ``i % max(lanes,
        channels)``, which lie one behind the other
    gigahertz: the clock
    kept: whether all of B may be in a cache when the job starts
    """
    beat = config.beat_bytes
    if kept:
        work = replace(work, uses=np.zeros_like(work.uses))
    port = _demand(
        config, work, entries, beat, bytes_moved=beat, cycles=1.0, both_ways=True, late=0
    )
    dram = None
    if not memory.flat:
        # A burst is of whole beats, and within a block of the interleaving.
        piece = max(beat, min(memory.access_bytes, config.interleave))
        moved = max(beat, memory.access_bytes)
        cycles = moved / memory.gigabytes * gigahertz
        times = timing(memory, gigahertz)
        ahead = math.ceil((times.precharge + times.activate) / cycles)
        late = (memory.write_queue + 1) * (config.interleave // piece) + ahead
        dram = _demand(
            config,
            work,
            entries,
            piece,
            bytes_moved=moved,
            cycles=cycles,
            both_ways=False,
            late=late,
        )
    return Bound(port=port, dram=dram, products=work.products)


def _demand(
    config: MatRaptorConfig,
    work: Work,
    entries: Ints,
    size: int,
    *,
    bytes_moved: int,
    cycles: float,
    both_ways: bool,
    late: int,
) -> Demand:
    """Returns the traffic in pieces of ``size`` bytes, each of which moves ``bytes_moved``."""
    channels, entry = config.channels, config.layout.entry_bytes
    left = _left(config, work, size)
    right, right_once = _right(config, work, size)
    reads, once = left + right, left + right_once
    if config.cache_bytes:
        reads = once
    writes = _pairs(np.arange(work.rows), channels, size)
    writes += _by_channel(np.arange(len(entries)), -(-entries * entry // size), channels)
    return Demand(
        piece_bytes=bytes_moved,
        piece_cycles=cycles,
        both_ways=both_ways,
        late=late,
        reads=tuple(reads.tolist()),
        writes=tuple(writes.tolist()),
        reads_once=tuple(once.tolist()),
    )


def _left(config: MatRaptorConfig, work: Work, size: int) -> Ints:
    """Pieces of the left operand, by channel."""
    entry = config.layout.entry_bytes
    if "a" in work.csr:
        rows = len(work.left_lengths) + 1
        one = np.ones(rows, np.int64)
        _, pointers = _flat(config, np.arange(rows), one, 1, POINTER_BYTES, size)
        for word in work.words[0]:
            _, once = _flat(config, work.left_pointers, work.left_lengths, 1, word, size)
            pointers = pointers + once
        return pointers
    left = work.left_rows[work.left_lengths[work.left_rows] > 0]
    first, last = _pieces(work.left_pointers[left], work.left_lengths[left], entry, size)
    distinct = _distinct(left, first, last, config.channels)
    return _pairs(work.left_rows, config.channels, size) + distinct


def _right(config: MatRaptorConfig, work: Work, size: int) -> tuple[Ints, Ints]:
    """Pieces of B, by channel, as often as they are used; each once."""
    channels, entry, uses = config.channels, config.layout.entry_bytes, work.uses
    if "b" in work.csr:
        two = np.where(uses > 0, 2, 0)
        each, once = _flat(config, np.arange(len(uses)), two, uses, POINTER_BYTES, size)
        lengths = np.where(uses > 0, work.right_lengths, 0)
        for word in work.words[1]:
            found = _flat(config, work.right_pointers, lengths, uses, word, size)
            each, once = each + found[0], once + found[1]
        return each, once
    used = np.flatnonzero(uses)
    filled = used[work.right_lengths[used] > 0]
    first, last = _pieces(work.right_pointers[filled], work.right_lengths[filled], entry, size)
    once = _pairs(used, channels, size) + _distinct(filled, first, last, channels)
    each = uses.astype(np.int64)
    each[filled] *= 1 + last - first + 1
    return _by_channel(np.arange(len(each)), each, channels), once


def _flat(
    config: MatRaptorConfig, first: Ints, count: Ints, uses: Ints | int, word: int, size: int
) -> tuple[Ints, Ints]:
    """Pieces of ``size`` bytes of an array at consecutive addresses, with words of ``word`` bytes:
    of each channel, as often as ranges of ``count`` words are used, and each once."""
    some = count > 0
    uses = np.broadcast_to(uses, count.shape)[some]
    begin = first[some] * word // size
    end = ((first + count)[some] * word - 1) // size
    changes = np.zeros(int(end.max(initial=-1)) + 2, np.int64)
    np.add.at(changes, begin, uses)
    np.add.at(changes, end + 1, -uses)
    used = np.cumsum(changes)
    channel = np.arange(len(used)) * size // config.interleave % config.channels
    each, once = (
        np.bincount(channel, counts, config.channels).astype(np.int64)
        for counts in (used, used > 0)
    )
    return each, once


def _by_channel(rows: Ints, counts: Ints, channels: int) -> Ints:
    """Sums over the rows of each channel."""
    return np.bincount(rows % channels, counts, channels).astype(np.int64)


def _pieces(pointers: Ints, lengths: Ints, entry: int, size: int) -> tuple[Ints, Ints]:
    """The first and the last piece of rows that are not empty, within their channel."""
    return pointers * entry // size, ((pointers + lengths) * entry - 1) // size


def _pairs(rows: Ints, channels: int, size: int) -> Ints:
    """Different pieces that the pairs of rows are in, by channel; the rows ascend."""
    piece = rows // channels * PAIR_BYTES // size
    return _distinct(rows, piece, piece, channels)


def _distinct(rows: Ints, first: Ints, last: Ints, channels: int) -> Ints:
    """Different pieces that rows are in, by channel. Rows lie one behind the other, in whatever
    order, so that one shares at most its first piece with what is before it."""
    order = np.lexsort((last, first, rows % channels))
    channel, first, last = rows[order] % channels, first[order], last[order]
    counts = last - first + 1
    counts[1:] -= (channel[1:] == channel[:-1]) & (first[1:] == last[:-1])
    return _by_channel(channel, counts, channels)
