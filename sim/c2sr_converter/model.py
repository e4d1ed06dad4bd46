"""The converter as software sees it: registers and a memory, jobs done in no time; and an estimate
of their cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.c2sr import PAIR_BYTES
from ...hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ...hw.spec.jobs.c2sr_converter import MODES, job_spec
from ..device.model import ModelDevice
from ..sparse.c2sr import run_indices, starts_of
from ..timing.memories import MemoryModel

__all__ = ["ConverterModel", "Places", "conversion_cycles"]


@dataclass(frozen=True)
class Places:
    """Flat addresses, (count,), of what a job reads and writes.

    Parameters
    ----------
    config: of the converter
    registers: of the job, by name
    """

    config: C2srConverterConfig
    registers: Mapping[str, int]

    def pairs(self, rows: Ints) -> Ints:
        """Returns the addresses of the pairs of rows."""
        channels = self.config.channels
        return self._in_channel("C2SR_PAIRS", rows % channels, rows // channels * PAIR_BYTES)

    def c2sr_entries(self, lengths: Ints, pointers: Ints) -> Ints:
        """Returns the addresses of all entries in C2SR, row after row."""
        channels = np.repeat(np.arange(len(lengths)) % self.config.channels, lengths)
        where = run_indices(pointers, lengths) * self.config.layout.entry_bytes
        return self._in_channel("C2SR_ENTRIES", channels, where)

    def csr_pointers(self, rows: int) -> Ints:
        """Returns the addresses of the pointers to ``rows`` rows in CSR and to their end."""
        return self.registers["CSR_POINTERS"] + np.arange(rows + 1) * POINTER_BYTES

    def csr_entries(self, count: int) -> Ints:
        """Returns the addresses of so many entries in CSR."""
        return self.registers["CSR_ENTRIES"] + np.arange(count) * self.config.layout.entry_bytes

    def _in_channel(self, base: str, channels: Ints, offsets: Ints) -> Ints:
        """Returns the addresses of bytes at offsets within channels of an array."""
        size = self.config.interleave
        blocks = offsets // size * self.config.channels + channels
        return self.registers[base] + blocks * size + offsets % size


Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_PAIR_WORDS = PAIR_BYTES // POINTER_BYTES


class _Rows(NamedTuple):
    """Rows as either form has them: how many entries each has, and where each entry is."""

    lengths: Ints
    entries: Ints


class _Failure(Exception):
    """A job that ends with an error: its name, and the detail."""


class ConverterModel(ModelDevice):
    """Behavioural model of the converter. Its jobs leave the same bits in memory as the hardware's,
    and all counters agree but CYCLES, which reads as zero.

    A job that fails leaves memory as it is. If several things are wrong with it, what is outside of
    the memory comes first, then the lower row; the hardware reports what it comes to first. The
    address of what is outside is the memory's end, to the hardware that of a burst there.

    Parameters
    ----------
    config: of the converter
    memory_bytes: size of the memory, which begins at address 0

    Members
    -------
    memory: the memory, uint8
    """

    def __init__(self, config: C2srConverterConfig, memory_bytes: int = 1 << 22) -> None:
        self.config: Final = config
        super().__init__(job_spec(config), memory_bytes)

    def _job(self) -> tuple[str, int, dict[str, int]]:
        to_csr = self._values["MODE"] == MODES["c2sr_to_csr"]
        try:
            self._check_size(self._values["ROWS"] * POINTER_BYTES)
            source = self._from_c2sr() if to_csr else self._from_csr()
            content = self._read(source.entries, self.config.layout.entry_bytes)
            starts = starts_of(source.lengths)
            bytes_read = self._c2sr_bytes(source) if to_csr else self._csr_bytes(source.lengths)
            if to_csr:
                written = self._write_csr(starts, content)
            else:
                written = self._write_c2sr(source.lengths, content)
        except _Failure as failure:
            error, detail = failure.args
            return error, detail, {}
        return "none", 0, {
            "rows_done": len(source.lengths),
            "entries": int(starts[-1]),
            "bytes_read": bytes_read,
            "bytes_written": written,
        }  # fmt: skip

    @property
    def _places(self) -> Places:
        """The addresses of the arrays in the job that the registers describe."""
        return Places(self.config, self._values)

    @property
    def _rows(self) -> Ints:
        return np.arange(self._values["ROWS"])

    # Memory

    def _bytes_at(self, places: Ints, size: int, error: str) -> Ints:
        """Addresses of the bytes of equal parts. Raises _Failure if some are outside."""
        if len(places) and int(places.max()) + size > self.memory_bytes:
            raise _Failure(error, self.memory_bytes)
        return places[:, None] + np.arange(size)

    def _check_size(self, size: int) -> None:
        """Raise _Failure for what is larger than the memory, before it is looked at."""
        if size > self.memory_bytes:
            raise _Failure("bus_read", self.memory_bytes)

    def _read(self, places: Ints, size: int) -> Bytes:
        """Parts of a size, (count, size)."""
        return self.memory[self._bytes_at(places, size, "bus_read")]

    # CSR

    def _from_csr(self) -> _Rows:
        rows = self._values["ROWS"]
        places = self._places.csr_pointers(rows)
        starts = self._read(places, POINTER_BYTES).view("<u4").reshape(-1).astype(np.int64)
        lengths = np.diff(starts)
        wrong = lengths < 0
        wrong[0] |= starts[0] != 0
        # A region that is too small for an earlier row is named instead.
        good = int(np.argmax(wrong)) if wrong.any() else rows
        self._check_room(lengths[:good], to_csr=False)
        if good < rows:
            raise _Failure("unsorted", good)
        self._check_size(int(starts[-1]) * self.config.layout.entry_bytes)
        return _Rows(lengths, self._places.csr_entries(int(starts[-1])))

    def _csr_bytes(self, lengths: Ints) -> int:
        """Read of CSR: whole blocks of pointers, and the beats of each row's entries."""
        beat, size = self.config.beat_bytes, self.config.layout.entry_bytes
        pointers = POINTER_BYTES * (len(lengths) + 1)
        block = self.config.interleave
        begin = starts_of(lengths)[:-1] * size
        some = lengths > 0
        first, last = begin // beat, (begin + lengths * size - 1) // beat
        beats = int((last - first + 1)[some].sum())
        return -(-pointers // block) * block + beats * beat

    def _write_csr(self, starts: Ints, content: Bytes) -> int:
        pointers = starts.astype("<u4").view(np.uint8).reshape(-1, POINTER_BYTES)
        places = self._places.csr_pointers(len(starts) - 1)
        return self._write((places, pointers), (self._places.csr_entries(len(content)), content))

    # C2SR

    def _from_c2sr(self) -> _Rows:
        words = self._read(self._places.pairs(self._rows), PAIR_BYTES).view("<u4")
        lengths, pointers = words.reshape(-1, _PAIR_WORDS).astype(np.int64).T
        self._check_room(lengths, to_csr=True)
        self._check_size(int(lengths.sum()) * self.config.layout.entry_bytes)
        return _Rows(lengths, self._places.c2sr_entries(lengths, pointers))

    def _c2sr_bytes(self, source: _Rows) -> int:
        """Read of C2SR: chunks of pairs; of the entries the beats that each row is in, but for one
        with which the row before it in the lane has ended."""
        beat, lanes, channels = self.config.beat_bytes, self.config.lane_count, self.config.channels
        chunk = self.config.chunk_beats * beat
        rows = np.bincount(self._rows % channels, minlength=channels)
        pairs = int((-(-rows * PAIR_BYTES // chunk)).sum()) * chunk
        # A beat is in one channel, so that its flat number tells it from all others.
        beats = source.entries // beat
        lane = np.repeat(self._rows % lanes, source.lengths)
        entries = sum(
            int(np.count_nonzero(np.diff(beats[lane == number], prepend=-1)))
            for number in range(lanes)
        )
        return pairs + entries * beat

    def _write_c2sr(self, lengths: Ints, content: Bytes) -> int:
        channels = self.config.channels
        pointers = np.zeros_like(lengths)
        for channel in range(channels):
            mine = slice(channel, None, channels)
            pointers[mine] = starts_of(lengths[mine])[:-1]
        pairs = np.stack([lengths, pointers], axis=1).astype("<u4").view(np.uint8)
        entries = self._places.c2sr_entries(lengths, pointers)
        return self._write((self._places.pairs(self._rows), pairs), (entries, content))

    def _write(self, *arrays: tuple[Ints, Bytes]) -> int:
        """Put parts at their places; returns how many bytes."""
        written = [
            (self._bytes_at(places, content.shape[1], "bus_write"), content)
            for places, content in arrays
        ]
        for places, content in written:
            self.memory[places] = content
        return sum(content.size for _, content in written)

    def _check_room(self, lengths: Ints, to_csr: bool) -> None:
        """Raise _Failure with the first row that does not fit CAPACITY."""
        groups = 1 if to_csr else self.config.channels
        ends = np.zeros_like(lengths)
        for group in range(groups):
            ends[group::groups] = np.cumsum(lengths[group::groups])
        # Rows without entries need no room.
        over = (ends > self._values["CAPACITY"]) & (lengths > 0)
        if over.any():
            raise _Failure("region", int(np.argmax(over)))


_FOUND = 14
"""Cycles from a job's start to the first request of an index, and from its first beat to a row."""
_PLACED = 11
"""Cycles from a row to the request of its entries."""
_READ = 8
"""Cycles from a request to an entry, beside the memory's latency."""
_WRITTEN = 20
"""Cycles from the last entry to the job's end, beside the memory's latency."""
_INSIDE = 6
"""Rows of a lane between the queue of rows and both its ends."""


def conversion_cycles(
    config: C2srConverterConfig,
    direction: str,
    lengths: Ints,
    memory: MemoryModel,
    gigahertz: float,
) -> int:
    """Estimates the cycles of a conversion of rows of these lengths, in C2SR without gaps.

    It follows each row: when it is found, when its lane accepts it, when its bursts have slots and
    arrive. Lanes do not wait for each other's beats in a channel, so that it is some per cent too
    low. With DRAM it is at least the time that the channel with most accesses takes at its peak.

    Raises ValueError for another direction than those of ``MODES``.
    """
    if direction not in MODES:
        raise ValueError(f"`direction` must be one of {', '.join(MODES)}, not {direction!r}")
    lengths = np.asarray(lengths, np.int64)
    to_csr, layout = direction == "c2sr_to_csr", config.layout
    if not len(lengths):
        return 0
    flat, own = starts_of(lengths)[:-1], np.zeros_like(lengths)
    for channel in range(config.channels):
        part = lengths[channel :: config.channels]
        own[channel :: config.channels] = starts_of(part)[:-1]
    latency = memory.latency if memory.flat else round(_latency(memory) * gigahertz)
    rows = config.beat_bytes // POINTER_BYTES
    beats = 1
    if to_csr:
        beats = config.channels * config.chunk_beats
        rows = beats * (config.beat_bytes // PAIR_BYTES)
    lanes, outstanding = config.lane_count, config.outstanding
    end = _machine()(
        lengths,
        own if to_csr else flat,
        config.step_rows,
        layout.block_entries,
        # A beat that two rows of C2SR share is read once.
        config.beat_entries if to_csr and lanes == config.channels else 0,
        (rows, beats, _FOUND + latency, _PLACED, latency + _READ),
        np.zeros((lanes, max(outstanding, 32) + _INSIDE), np.int64),
        np.zeros((lanes, outstanding), np.int64),
        np.full((lanes, 5), [0, 0, 0, 0, -1], np.int64),
    )
    found = int(end) + latency + _WRITTEN
    if memory.flat:
        return found
    busiest = _accesses(config, lengths, flat, own, memory, to_csr=to_csr)
    return max(found, round(busiest * memory.access_bytes / memory.gigabytes * gigahertz))


def _latency(memory: MemoryModel) -> float:
    """Of a read that opens a row, in ns."""
    burst = memory.access_bytes / memory.gigabytes
    return memory.activate + memory.column + memory.controller + burst


def _accesses(
    config: C2srConverterConfig,
    lengths: Ints,
    flat: Ints,
    own: Ints,
    memory: MemoryModel,
    *,
    to_csr: bool,
) -> int:
    """Accesses of the channel that has most, if those of CSR are spread evenly. Rows of CSR, and of
    C2SR that are read, have accesses of their own."""
    size, channels = config.layout.entry_bytes, config.channels
    some = lengths > 0

    def of_rows(begins: Ints) -> Ints:
        first, last = begins * size, (begins + lengths) * size - 1
        return np.where(some, last // memory.access_bytes - first // memory.access_bytes + 1, 0)

    number = np.arange(len(lengths)) % channels
    in_c2sr: npt.NDArray[Any] = np.bincount(number, of_rows(own), channels)
    if not to_csr:
        in_c2sr = np.bincount(number, lengths, channels) * size / memory.access_bytes
    index = len(lengths) * (PAIR_BYTES + POINTER_BYTES) / memory.access_bytes / channels
    return int(np.ceil(in_c2sr.max() + of_rows(flat).sum() / channels + index))


@cache
def _machine() -> Any:
    """``_walk`` as machine code, which takes time to load."""
    from ..timing.compiled import compiled

    return compiled(_walk)


def _walk(
    lengths: Any,
    begins: Any,
    step: int,
    block: int,
    shared: int,
    times: tuple[int, int, int, int, int],
    room: Any,
    slots: Any,
    lane: Any,
) -> int:
    """When the last entry is copied. ``times``: rows of an index's part, the beats that it takes,
    when the first could be there, and the delays of a row and of a burst. ``room``: [lane, place],
    when a place for a row is free; ``slots``: the same of bursts; ``lane``: [lane, what], rows,
    bursts, the last request, the last entry, the last beat; ``shared``: entries of a beat that
    rows share, or 0."""
    rows, beats, first, placed, read = times
    lanes = len(lane)
    now = 0
    for row in range(0, len(lengths), step):
        now = max(now + 1, first + (row // rows + 1) * beats)
        for other in range(row, min(row + step, len(lengths))):
            if lengths[other] > 0:
                own = other % lanes
                now = max(now, room[own, lane[own, 0] % room.shape[1]])
        for other in range(row, min(row + step, len(lengths))):
            if lengths[other] == 0:
                continue
            own = other % lanes
            asks = max(lane[own, 2], now + placed - 1)
            copied = lane[own, 3]
            done = 0
            if shared:
                beat = begins[other] // shared
                if beat == lane[own, 4]:
                    done = min(lengths[other], shared - begins[other] % shared)
                    copied = max(copied, now + placed) + done
                lane[own, 4] = (begins[other] + lengths[other] - 1) // shared
            while done < lengths[other]:
                count = min(lengths[other] - done, block - (begins[other] + done) % block)
                slot = lane[own, 1] % slots.shape[1]
                asks = max(asks + 1, slots[own, slot])
                copied = max(copied, asks + read) + count
                slots[own, slot] = copied
                lane[own, 1] += 1
                done += count
            lane[own, 2] = asks
            lane[own, 3] = copied
            room[own, lane[own, 0] % room.shape[1]] = copied - 5
            lane[own, 0] += 1
    for own in range(lanes):
        now = max(now, lane[own, 3])
    return now
