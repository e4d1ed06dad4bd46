"""Conversions between CSR and C2SR on the RTL: any job, any memory, and what each must leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from tilewright.hw.spec.jobs.c2sr_converter import BASES, MODES, job_spec
from tilewright.sim.c2sr_converter.driver import ConverterDevice
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.sparse.c2sr import C2sr, CsrPatterns, from_patterns, starts_of
from tilewright.sim.sparse.csr_image import csr_image
from tilewright.sim.sparse.image import entries_bytes, image, pairs_bytes
from tilewright.sim.sparse.memory_blocks import Block
from tilewright.verif.kit.job_checks import JobRtl, QuietAtEnd

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True, eq=False)
class ConverterCase:
    """A conversion with everything at its place in memory.

    Parameters
    ----------
    config: of the converter
    direction: a key of MODES
    matrix: what is converted; in C2SR perhaps with gaps
    capacity: entries that may be written
    base: addresses of BASES
    """

    config: C2srConverterConfig
    direction: str
    matrix: C2sr
    capacity: int
    base: dict[str, int]

    @property
    def registers(self) -> dict[str, int]:
        """The job registers."""
        mode, rows = MODES[self.direction], self.matrix.shape[0]
        job = {"mode": mode, "rows": rows, "capacity": self.capacity, **self.base}
        return {name.upper(): value for name, value in job.items()}

    def source(self) -> tuple[Block, Block]:
        """The matrix in memory, before."""
        return self._blocks(self.direction == "c2sr_to_csr", self.matrix)

    def result(self) -> tuple[Block, Block]:
        """Returns the expected content of memory after the job."""
        shape, layout = self.matrix.shape, self.config.layout
        packed = from_patterns(self.matrix.patterns(), shape, layout)
        return self._blocks(self.direction == "csr_to_c2sr", packed)

    def _blocks(self, c2sr: bool, matrix: C2sr) -> tuple[Block, Block]:
        base = self.base
        if c2sr:
            return image(matrix, pairs_base=base["c2sr_pairs"], entries_base=base["c2sr_entries"])
        return csr_image(
            matrix, pointers_base=base["csr_pointers"], entries_base=base["csr_entries"]
        )

    def written(self, memory_bytes: int, entries: int | None = None) -> npt.NDArray[np.bool_]:
        """Marks the bytes that a job writes, without the padding of arrays; with ``entries``, the
        bytes that it may write if the result has capacity for that many entries."""
        layout, rows = self.config.layout, self.matrix.shape[0]
        inside = np.zeros(memory_bytes, np.bool_)
        if self.direction == "c2sr_to_csr":
            count = self.matrix.nnz if entries is None else entries
            for name, size in (
                ("csr_pointers", POINTER_BYTES * (rows + 1)),
                ("csr_entries", layout.entry_bytes * count),
            ):
                inside[self.base[name] : self.base[name] + size] = True
            return inside
        for channel in range(layout.channels):
            lengths = self.matrix.lengths[channel :: layout.channels]
            count = int(lengths.sum()) if entries is None else entries
            for name, size in (
                ("c2sr_pairs", PAIR_BYTES * len(lengths)),
                ("c2sr_entries", layout.entry_bytes * count),
            ):
                for offset in range(size):
                    inside[layout.flat(self.base[name], channel, offset)] = True
        return inside


def any_rows(rng: np.random.Generator, rows: int, cols: int, most: int) -> Ints:
    """Lengths of rows, empty ones among them, at most as many as columns."""
    kind = int(rng.integers(6))
    lengths = rng.integers(0, most + 1, rows)
    if kind == 0:
        lengths[rng.random(rows) < 0.8] = 0
    elif kind == 1:
        lengths[:] = 1
    elif kind == 2:
        # A channel of 2, 3, ... without entries.
        lengths[int(rng.integers(2)) :: int(rng.integers(2, 5))] = 0
    elif kind == 3:
        lengths[:] = 0
    return np.minimum(lengths, cols).astype(np.int64)


def matrix_of(
    rng: np.random.Generator, config: C2srConverterConfig, lengths: Ints, cols: int
) -> C2sr:
    """Rows of these lengths, of any columns and any patterns."""
    layout, starts = config.layout, starts_of(lengths)
    parts = [np.sort(rng.choice(cols, count, replace=False)) for count in lengths.tolist()]
    columns = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
    words = rng.integers(0, 1 << 64, starts[-1], dtype=np.uint64, endpoint=False)
    values = words >> np.uint64(64 - layout.format.bits)
    return from_patterns(CsrPatterns(starts, columns, values), (len(lengths), cols), layout)


def scattered(rng: np.random.Generator, matrix: C2sr) -> C2sr:
    """The same with gaps between rows, and rows of a channel in any order."""
    channels = matrix.layout.channels
    pointers = np.zeros(len(matrix.lengths), np.int64)
    for channel in range(channels):
        rows = np.arange(channel, len(pointers), channels)
        order = rng.permutation(rows)
        room = matrix.lengths[order] + rng.integers(0, 4, len(order))
        pointers[order] = starts_of(room)[:-1] + int(rng.integers(0, 9))
    return from_patterns(matrix.patterns(), matrix.shape, matrix.layout, pointers=pointers)


def place(
    rng: np.random.Generator,
    config: C2srConverterConfig,
    direction: str,
    matrix: C2sr,
    *,
    spare: int = 0,
) -> ConverterCase:
    """Returns a case whose arrays are apart, in any order, with capacity for ``spare`` entries more
    than needed."""
    layout, rows = config.layout, matrix.shape[0]
    packed = from_patterns(matrix.patterns(), matrix.shape, layout)
    need = matrix.nnz if direction == "c2sr_to_csr" else packed.channel_entries
    channel_entries = max(matrix.channel_entries, packed.channel_entries) + spare
    sizes = {
        "csr_pointers": POINTER_BYTES * (rows + 1),
        "csr_entries": layout.entry_bytes * (matrix.nnz + spare),
        "c2sr_pairs": pairs_bytes(layout, rows),
        "c2sr_entries": entries_bytes(layout, channel_entries),
    }
    stripe, base, address = layout.stripe_bytes, {}, 0
    for name in rng.permutation(list(BASES)).tolist():
        base[name] = address + int(rng.integers(0, 3)) * stripe
        address = base[name] + -(-sizes[name] // stripe) * stripe
    capacity = max(1, need) + int(rng.integers(0, spare + 1))
    return ConverterCase(
        config=config, direction=direction, matrix=matrix, capacity=capacity, base=base
    )


def load(rng: np.random.Generator, device: ConverterDevice, case: ConverterCase) -> Bytes:
    """Put the matrix into a memory full of random bytes; returns its content."""
    memory = rng.integers(0, 256, device.memory_bytes, dtype=np.uint8)
    for block in case.source():
        memory[block.address : block.address + len(block.data)] = block.data
    device.write_memory(0, memory.tobytes())
    return memory


def run(
    device: ConverterDevice, case: ConverterCase, overrides: dict[str, int] | None = None
) -> JobStatus:
    """Write the job registers, some with other values, run, and take the counters."""
    registers = JobRegisters(device, job_spec(case.config))
    return registers.submit(case.registers | (overrides or {}))


def addresses(case: ConverterCase, row: int, *, source: bool) -> list[int]:
    """Returns the addresses of a row's pair or pointer and of its first entry, in the matrix or in
    the result."""
    layout, base = case.config.layout, case.base
    starts = case.matrix.patterns().starts
    if source == (case.direction == "csr_to_c2sr"):
        words = POINTER_BYTES * row, layout.entry_bytes * int(starts[row])
        return [base["csr_pointers"] + words[0], base["csr_entries"] + words[1]]
    index, channel = divmod(row, layout.channels)
    words = PAIR_BYTES * index, layout.entry_bytes * int(case.matrix.pointers[row])
    names = "c2sr_pairs", "c2sr_entries"
    return [layout.flat(base[name], channel, x) for name, x in zip(names, words, strict=True)]


Converter = JobRtl[C2srConverterConfig]
"""Device that runs the jobs."""

Ints = npt.NDArray[np.int64]


def any_case(
    rng: np.random.Generator,
    config: C2srConverterConfig,
    direction: str,
    *,
    rows: int | None = None,
    most: int | None = None,
) -> ConverterCase:
    """A matrix of any shape; in C2SR perhaps with gaps."""
    if rows is None:
        rows = int(rng.choice([1, 2, 7, int(rng.integers(1, 60)), int(rng.integers(60, 400))]))
    cols = int(rng.choice([1, 3, 40, 3000])) if most is None else most
    longest = most or int(rng.choice([1, 4, 12, 2000 // rows + 1]))
    lengths = any_rows(rng, rows, cols, longest)
    matrix = matrix_of(rng, config, lengths, cols)
    if direction == "c2sr_to_csr" and rng.integers(2):
        matrix = scattered(rng, matrix)
    return place(rng, config, direction, matrix, spare=int(rng.integers(0, 20)))


def check_result(device: Converter, case: ConverterCase, memory: Bytes) -> None:
    """Checks every byte after a job on a memory that held ``memory``."""
    size = device.memory_bytes
    expected = memory.copy()
    left, inside = np.zeros(size, np.uint8), case.written(size)
    for block in case.result():
        left[block.address : block.address + len(block.data)] = block.data
    expected[inside] = left[inside]
    wrong = np.flatnonzero(np.frombuffer(device.read_memory(0, size), np.uint8) != expected)
    assert not len(wrong), f"{len(wrong)} bytes are wrong, first {wrong[0]:#x}: {case.base}"


def check(rng: np.random.Generator, device: Converter, case: ConverterCase) -> JobStatus:
    """Run a job that must end well, with a quiet bus: every byte of memory, what went over each
    channel, and the counters."""
    config, matrix, size = case.config, case.matrix, device.memory_bytes
    memory, before = load(rng, device, case), device.moved
    status = run(QuietAtEnd(device), case)
    assert (status.error, status.detail) == ("none", 0)
    check_result(device, case, memory)
    channel = np.flatnonzero(case.written(size)) // config.interleave % config.channels
    through = read_bytes(config, case), np.bincount(channel, minlength=config.channels)
    assert np.subtract(device.moved, before).T.tolist() == [side.tolist() for side in through]
    rows, counts = matrix.shape[0], status.counts
    assert (counts["rows_done"], counts["entries"]) == (rows, matrix.nnz)
    assert counts["bytes_read"] == through[0].sum()
    assert counts["bytes_written"] == through[1].sum()
    assert counts["cycles"] >= matrix.nnz / config.lane_count
    return status


def read_bytes(config: C2srConverterConfig, case: ConverterCase) -> Ints:
    """Returns the bytes that each channel must read. Row pointers are read in whole blocks, pairs
    in chunks, and the entries of a row in beats. A beat of C2SR that the row before shares, of
    those of the lane, is read once."""
    layout, matrix = config.layout, case.matrix
    rows, size, beat = matrix.shape[0], layout.entry_bytes, config.beat_bytes
    channels, lanes = config.channels, config.lanes or config.channels
    found = np.zeros(channels, np.int64)
    lengths = matrix.lengths.tolist()
    if case.direction == "csr_to_c2sr":
        blocks = np.arange(-(-POINTER_BYTES * (rows + 1) // config.interleave)) % channels
        found += np.bincount(blocks, minlength=channels) * config.interleave
        begin = 0
        for length in lengths:
            last = (begin + length) * size - 1
            for number in range(begin * size // beat, last // beat + 1 if length else 0):
                found[number * beat // config.interleave % channels] += beat
            begin += length
        return found
    before = [(-1, -1)] * lanes
    chunk = min(4, config.interleave // beat) * beat
    for channel in range(channels):
        count = len(range(channel, rows, channels))
        found[channel] += -(-count * PAIR_BYTES // chunk) * chunk
    for row, (length, pointer) in enumerate(zip(lengths, matrix.pointers.tolist(), strict=True)):
        if length:
            channel, lane = row % channels, row % lanes
            first, last = pointer * size // beat, ((pointer + length) * size - 1) // beat
            found[channel] += (last - first + ((channel, first) != before[lane])) * beat
            before[lane] = channel, last
    return found
