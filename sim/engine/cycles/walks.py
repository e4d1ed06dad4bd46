"""The rows of memory that make up the blocks of each operand, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....hw.spec.engine import OPERANDS, EngineConfig
from ....hw.spec.matrix_unit import Operation
from ..job import Job

__all__ = ["ADDRESS_BITS", "WALK", "Grid", "walks"]

ADDRESS_BITS = 62
"""Bits of an address that are kept; the higher ones decide nothing."""

WALK = [
    (name, np.int64)
    for name in (
        # Bytes from a position to the next one, by level; the last position of each.
        *("base", "step_i", "step_j", "step_k", "step_row"),
        *("i_last", "j_last", "k_last"),
        # Rows of a block and beats of a row, and those of the last position of a level (0: i, 1: j,
        # 2: k).
        *("rows", "rows_end", "rows_by", "beats", "beats_end", "beats_by"),
    )
]
"""Fields of an operand's record."""

_I, _J, _K = range(3)


class Grid:
    """The division of a job into blocks and chunks.

    Members
    -------
    down, across, deep: of a block, in rows, columns and lanes
    m, n, k: of the job, ``k`` in lanes
    last: the last block row, block column, and chunk of k
    """

    def __init__(self, config: EngineConfig, operation: Operation, job: Job) -> None:
        sizes = zip(config.block, config.tile_shape, strict=True)
        self.down, self.across, self.deep = (tiles * length for tiles, length in sizes)
        self.m, self.n = job.m, job.n
        self.k = job.k * operation.operand_bits // config.unit.lane_bits
        lengths = ((self.m, self.down), (self.n, self.across), (self.k, self.deep))
        self.last = tuple((size - 1) // length for size, length in lengths)


def _cut(size: int, length: int) -> tuple[int, int]:
    """Returns the length of all blocks but the last one, and that of the last one."""
    return length, (size - 1) % length + 1


def walks(config: EngineConfig, operation: Operation, job: Job) -> Any:
    """Records of type ``WALK`` of A, B, C and D."""
    cut = Grid(config, operation, job)
    element, result = operation.operand_bits, operation.result_bits
    lanes = element // config.unit.lane_bits
    k_rows = (cut.k // lanes, cut.deep // lanes)
    down, across = (job.m, cut.down), (job.n, cut.across)
    if job.transposed_b:
        right = (across, _J, k_rows, _K, element)
    else:
        right = (k_rows, _K, across, _J, element)
    shapes = {
        "a": (down, _I, k_rows, _K, element),
        "b": right,
        "c": (down, _I, across, _J, result),
        "d": (down, _I, across, _J, result),
    }
    found = np.zeros(len(OPERANDS), WALK)
    for record, name in zip(found, OPERANDS, strict=True):
        rows, rows_by, columns, columns_by, bits = shapes[name]
        stride = job.stride[name]
        record["base"] = job.base[name] % (1 << ADDRESS_BITS)
        record["step_row"] = stride
        steps = [0, 0, 0]
        steps[rows_by] = rows[1] * stride
        steps[columns_by] = columns[1] * bits // 8
        record["step_i"], record["step_j"], record["step_k"] = steps
        record["i_last"], record["j_last"], record["k_last"] = cut.last
        if name in "cd":
            record["k_last"] = 0
        record["rows_by"], record["beats_by"] = rows_by, columns_by
        record["rows"], record["rows_end"] = _cut(*rows)
        ends = (-(-length * bits // config.data_bits) for length in _cut(*columns))
        record["beats"], record["beats_end"] = ends
    return found
