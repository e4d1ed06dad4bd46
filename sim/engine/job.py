"""Computes what a job of the tile engine leaves in memory and in its counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.engine import OPERANDS, EngineConfig
from ...hw.spec.jobs.engine import FLAGS
from ...hw.spec.matrix_unit import Operation
from ..units.any_unit import cut_into_lanes, mixed_operations

__all__ = ["Bytes", "Job", "JobFailure", "Outcome", "golden", "product", "run_job"]

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

_LARGEST_CALL = 1 << 14
"""Operations of the unit that are computed at a time, to bound the memory taken."""


class JobFailure(Exception):
    """A job that cannot end well: ``error``, and ``detail`` for ERROR_DETAIL."""

    def __init__(self, error: str, detail: int) -> None:
        super().__init__(f"{error}, detail {detail:#x}")
        self.error, self.detail = error, detail


@dataclass(frozen=True, kw_only=True)
class Job:
    """The job registers: opcode, sizes, byte addresses and row strides by operand, flags."""

    op: int
    m: int
    n: int
    k: int
    base: dict[str, int]
    stride: dict[str, int]
    transposed_b: bool = False
    use_c: bool = False

    @property
    def registers(self) -> dict[str, int]:
        """The value of each job register, by name."""
        return {
            "OP": self.op,
            "FLAGS": FLAGS.put(transposed_b=self.transposed_b, use_c=self.use_c),
            "M": self.m,
            "N": self.n,
            "K": self.k,
            **{f"{x.upper()}_BASE": address for x, address in self.base.items()},
            **{f"{x.upper()}_STRIDE": stride for x, stride in self.stride.items()},
        }

    @classmethod
    def of_registers(cls, values: Mapping[str, int]) -> Job:
        """The job that registers hold."""
        flags = values["FLAGS"]
        return cls(
            op=values["OP"],
            m=values["M"],
            n=values["N"],
            k=values["K"],
            base={x: values[f"{x.upper()}_BASE"] for x in OPERANDS},
            stride={x: values[f"{x.upper()}_STRIDE"] for x in OPERANDS},
            transposed_b=bool(FLAGS.get(flags, "transposed_b")),
            use_c=bool(FLAGS.get(flags, "use_c")),
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The counters of a job."""

    operations: int
    bytes_read: int
    bytes_written: int


def product(
    config: EngineConfig, operation: Operation, a: Words, b: Words, c: Words | None
) -> Words:
    """D of whole matrices of element patterns: a chain of the unit's operations over k tiles.

    Parameters
    ----------
    a, b: (M, K) and (K, N) patterns of ``operation.operand_bits``
    c: (M, N) patterns of ``operation.result_bits``, or None

    Returns
    -------
    (M, N) patterns
    """
    rows, cols, depth = config.tile_shape
    m, n = a.shape[0], b.shape[1]
    lanes_a = _lanes(config, operation, a)
    lanes_b = _lanes(config, operation, b.T).T
    if c is None:
        c = np.full((m, n), operation.addend or 0, np.uint64)
    sums = _tiles(c, rows, cols)
    down, across = sums.shape[:2]
    row, col = (grid.ravel() for grid in np.indices((down, across)))
    flat = sums.reshape(down * across, rows, cols)
    left, right = _padded(config, operation, lanes_a, lanes_b)
    left_tiles, right_tiles = _tiles(left, rows, depth), _tiles(right, depth, cols)
    for k in range(left_tiles.shape[1]):
        for start in range(0, len(flat), _LARGEST_CALL):
            part = slice(start, start + _LARGEST_CALL)
            count = len(flat[part])
            codes = np.full(count, operation.opcode)
            unit: Any = config.unit
            flat[part], _ = mixed_operations(
                unit, codes, left_tiles[row[part], k], right_tiles[k, col[part]], flat[part]
            )
    whole = flat.reshape(down, across, rows, cols).swapaxes(1, 2)
    return whole.reshape(down * rows, across * cols)[:m, :n]


def golden(
    config: EngineConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One job on matrices of patterns: a, b and perhaps c to d; see
    :class:`tilewright.registry.Entry`."""
    found = config.unit.operations[operation]
    return {"d": product(config, found, operands["a"], operands["b"], operands.get("c"))}


def _lanes(config: EngineConfig, operation: Operation, words: Words) -> Words:
    """Elements along the last axis cut into lanes, low lane first."""
    lane = config.unit.lane_bits
    return cut_into_lanes(words, lane, operation.operand_bits // lane)


def _padded(config: EngineConfig, operation: Operation, a: Words, b: Words) -> tuple[Words, Words]:
    """Lanes of both operands up to whole k tiles: padding, or copies of the last tile's first k."""
    depth = config.tile_shape[2]
    lanes = a.shape[1]
    missing = -lanes % depth
    if not missing:
        return a, b
    if operation.padding is None:
        first = lanes // depth * depth
        columns = np.repeat(a[:, first : first + 1], missing, axis=1)
        rows = np.repeat(b[first : first + 1], missing, axis=0)
        return np.concatenate([a, columns], axis=1), np.concatenate([b, rows])
    per = operation.operand_bits // config.unit.lane_bits
    words = [np.full((1, missing // per), word, np.uint64) for word in operation.padding]
    columns, rows = (_lanes(config, operation, word) for word in words)
    left = np.concatenate([a, np.broadcast_to(columns, (len(a), missing))], axis=1)
    return left, np.concatenate([b, np.broadcast_to(rows.T, (missing, b.shape[1]))])


def _tiles(matrix: Words, rows: int, cols: int) -> Words:
    """(tiles down, tiles across, rows, cols) of a matrix, filled up with zeros; a copy."""
    down, across = -(-matrix.shape[0] // rows), -(-matrix.shape[1] // cols)
    whole: Words = np.zeros((down * rows, across * cols), np.uint64)
    whole[: matrix.shape[0], : matrix.shape[1]] = matrix
    return whole.reshape(down, rows, across, cols).swapaxes(1, 2).copy()


def _places(config: EngineConfig, base: int, stride: int, rows: int, width: int) -> Words:
    """Addresses (rows, width) of the bytes of a matrix, modulo the address space."""
    start: Words = np.uint64(base) + np.arange(rows, dtype=np.uint64) * np.uint64(stride)
    columns: Words = np.arange(width, dtype=np.uint64)
    return (start[:, np.newaxis] + columns) & np.uint64((1 << config.addr_bits) - 1)


def _inside(memory: Bytes, places: Words, error: str) -> None:
    outside = places[places >= len(memory)]
    if len(outside):
        raise JobFailure(error, int(outside[0]))


def _fetch(
    config: EngineConfig, memory: Bytes, job: Job, operand: str, shape: tuple[int, int], bits: int
) -> Words:
    """A matrix of element patterns out of memory; whole beats are read."""
    rows, cols = shape
    width = -(-cols * bits // config.data_bits) * config.beat_bytes
    places = _places(config, job.base[operand], job.stride[operand], rows, width)
    _inside(memory, places, "bus_read")
    content = np.ascontiguousarray(memory[places[:, : cols * bits // 8]])
    return content.view(f"<u{bits // 8}").astype(np.uint64)


def run_job(config: EngineConfig, memory: Bytes, job: Job) -> Outcome:
    """Run a job that obeys the rules on a memory.

    All of A, B and C is read before D is written; the hardware gives the same if D overlaps
    neither A nor B, and overlaps C only by being the same matrix.

    Raises
    ------
    JobFailure if an address lies behind the memory's end: the bus fails there.
    """
    operation = next(x for x in config.unit.operations.values() if x.opcode == job.op)
    bits, result = operation.operand_bits, operation.result_bits
    a = _fetch(config, memory, job, "a", (job.m, job.k), bits)
    shape = (job.n, job.k) if job.transposed_b else (job.k, job.n)
    b = _fetch(config, memory, job, "b", shape, bits)
    c = _fetch(config, memory, job, "c", (job.m, job.n), result) if job.use_c else None
    width = job.n * result // 8
    places = _places(config, job.base["d"], job.stride["d"], job.m, width)
    _inside(memory, places, "bus_write")
    d = product(config, operation, a, b.T if job.transposed_b else b, c)
    memory[places] = d.astype(f"<u{result // 8}").view(np.uint8).reshape(places.shape)
    return _outcome(config, job, operation)


def _outcome(config: EngineConfig, job: Job, operation: Operation) -> Outcome:
    """A is read once for every column of blocks, B for every row of blocks."""
    rows, cols, depth = config.tile_shape
    block_rows, block_cols, _ = config.block
    lanes = job.k * operation.operand_bits // config.unit.lane_bits

    def beats(elements: int, bits: int) -> int:
        return -(-elements * bits // config.data_bits)

    bits, result = operation.operand_bits, operation.result_bits
    across, down = -(-job.n // (block_cols * cols)), -(-job.m // (block_rows * rows))
    read_a = across * job.m * beats(job.k, bits)
    b_rows, b_cols = (job.n, job.k) if job.transposed_b else (job.k, job.n)
    read_b = down * b_rows * beats(b_cols, bits)
    read_c = job.m * beats(job.n, result) if job.use_c else 0
    return Outcome(
        operations=-(-job.m // rows) * -(-job.n // cols) * -(-lanes // depth),
        bytes_read=(read_a + read_b + read_c) * config.beat_bytes,
        bytes_written=job.m * job.n * result // 8,
    )
