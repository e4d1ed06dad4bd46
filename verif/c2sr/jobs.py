"""Conversions between CSR and C2SR on the RTL: any job, any memory, and what each must leave."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from tilewright.sim.device.job_registers import JobStatus
from tilewright.verif.c2sr.cases import (
    Bytes,
    ConverterCase,
    any_rows,
    load,
    matrix_of,
    place,
    run,
    scattered,
)
from tilewright.verif.kit.job_checks import JobRtl, QuietAtEnd

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
    assert counts["cycles"] >= matrix.nnz
    return status


def read_bytes(config: C2srConverterConfig, case: ConverterCase) -> Ints:
    """Returns the bytes that each channel must read. CSR is read in whole blocks. C2SR is read in
    beats of pairs and beats of entries, but a beat that the row before shares is read once."""
    layout, matrix = config.layout, case.matrix
    rows, size, beat = matrix.shape[0], layout.entry_bytes, config.beat_bytes
    found = np.zeros(config.channels, np.int64)
    if case.direction == "csr_to_c2sr":
        for part in (POINTER_BYTES * (rows + 1), size * matrix.nnz):
            blocks = np.arange(-(-part // config.interleave)) % config.channels
            found += np.bincount(blocks, minlength=config.channels) * config.interleave
        return found
    before = -1, -1
    for channel in range(config.channels):
        count = len(range(channel, rows, config.channels))
        found[channel] += -(-count * PAIR_BYTES // beat) * beat
    lengths, pointers = matrix.lengths.tolist(), matrix.pointers.tolist()
    for row, (length, pointer) in enumerate(zip(lengths, pointers, strict=True)):
        if length:
            channel = row % config.channels
            first, last = pointer * size // beat, ((pointer + length) * size - 1) // beat
            found[channel] += (last - first + ((channel, first) != before)) * beat
            before = channel, last
    return found
