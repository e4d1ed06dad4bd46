"""Counts the bytes that a pass moves through on-chip memories, and those of an ideal accelerator.

Bytes written to a memory and bytes read from it, whatever its size; registers are none. In place of
energy, of which these are most.

Source: SIDA, its section on energy savings, which compares with the idealised sparse accelerator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...hw.spec.sida import SidaConfig
from .iterations.problem import Problem
from .references import Demand, vectors_moved

__all__ = ["OnChip", "ideal_bytes", "pass_bytes"]


@dataclass(frozen=True, kw_only=True)
class OnChip:
    """Bytes of a pass of two products.

    Parameters
    ----------
    blocks: what the memory gives and takes, into the loaders' and the writer's blocks and out of
        them
    operands: x and z written to the banks of the Gather, and both read for each element
    rows: results of columns on their way to the core
    z: rows of z written to every bank of what waits, and read for each late element
    held: late elements written to lists and read; those that are read again count as if they were
    w: its first values, sums read and written for each late element, and w read for E2
    """

    blocks: int
    operands: int
    rows: int
    z: int
    held: int
    w: int

    @property
    def total(self) -> int:
        """Sum of all bytes."""
        return self.blocks + self.operands + self.rows + self.z + self.held + self.w


def pass_bytes(config: SidaConfig, problem: Problem, counts: Mapping[str, int]) -> OnChip:
    """``counts``: the counters of a pass, as :class:`~.cycles.steady.SteadyPass` has them. Of
    problems without the transpose."""
    matrix = problem.matrix
    value = config.format.bits // 8
    size, elements = matrix.size, len(matrix.rows)
    late = int(np.count_nonzero(matrix.late(config.subtensor)))
    place_bits = (config.most_rows - 1).bit_length()
    # A list has an element's row in its panel, and its column in its bank.
    held_bits = config.format.bits + config.subtensor.bit_length() - 1
    held_bits += place_bits - (config.pes.bit_length() - 1)
    return OnChip(
        blocks=2 * (counts["bytes_read"] + counts["bytes_written"]),
        operands=2 * value * (size + elements),
        rows=2 * value * size,
        z=value * (config.pes * size + late),
        held=2 * late * held_bits // 8,
        w=2 * value * (size + late),
    )


def ideal_bytes(demand: Demand) -> int:
    """Bytes of an accelerator without reuse between operators: blocks as above, an operand for each
    element, x written to its on-chip memory, and results of columns on their way to memory."""
    value = demand.value_bytes
    moved = 0
    for iteration in range(demand.iterations):
        product = demand.matrix_bytes + 2 * demand.vector_bytes
        work = demand.vector_bytes * sum(map(vectors_moved, demand.part(iteration)))
        operands = value * demand.elements + demand.vector_bytes
        moved += 2 * (product + work) + operands + 2 * demand.vector_bytes
    return moved
