"""Counts the bytes that a pass moves through on-chip memories, and those of an ideal accelerator.

Bytes written to a memory and bytes read from it, whatever its size; registers are none. In place of
energy, of which these are most.

Source: SIDA, its section on energy savings, which compares with the idealised sparse accelerator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...hw.spec.elementwise.instructions import Instruction
from ...hw.spec.elementwise.program import PARTS, Program
from ...hw.spec.sida import INDEX_BITS, SidaConfig
from .iterations.jobs import Job, Setup
from .iterations.problem import Problem

# Computes the time and the traffic of ideal reference accelerators.
#
# All have the bandwidth and the lanes of one that is real, and always reach one of the two. They
# differ in what they read again:
#
# * *ideal*: nothing is kept between operators. Each element-wise operation reads its operands and
#   writes its result, and each product reads the matrix, by columns;
# * *fused*: the same, but all element-wise work behind a product is done on the way;
# * *oracle*: the OEI dataflow with buffers without limits: the matrix once for two products, x
#   from memory once in all.
#
# Source: SIDA, methodology (the idealised sparse accelerator, which is what *ideal* is here) and
# the oracle of its section on cross-iteration reuse.

POINTER_BYTES = INDEX_BITS // 8
"""Bytes of a pointer to a column, or a row."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Memory bandwidth and lanes that all references share.

    Parameters
    ----------
    bytes_a_cycle: of the memory
    lanes: products, and element-wise operations, of a core a cycle
    """

    bytes_a_cycle: float
    lanes: int


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Describes a computation by its sizes and its element-wise work.

    Parameters
    ----------
    size, elements: of the matrix; without elements there is none, and no product: element-wise work
        alone
    iterations: products with it
    program: the element-wise work, E1 after odd iterations and E2 after even ones
    value_bytes, index_bytes: of a value, of a row's number
    features: columns of the vectors
    """

    size: int
    elements: int
    iterations: int
    program: Program
    value_bytes: int = 4
    index_bytes: int = 4
    features: int = 1

    @property
    def matrix_bytes(self) -> int:
        """Bytes of the matrix by columns, stored once."""
        if not self.elements:
            return 0
        return self.elements * (self.value_bytes + self.index_bytes) + self.pointer_bytes

    @property
    def pointer_bytes(self) -> int:
        """Bytes of the pointers to the columns, or to the rows."""
        return (self.size + 1) * POINTER_BYTES

    @property
    def vector_bytes(self) -> int:
        """Bytes of a vector."""
        return self.size * self.features * self.value_bytes

    def part(self, iteration: int) -> tuple[Instruction, ...]:
        """Element-wise work after a product; products count from 0."""
        return self.program.part(PARTS[iteration % 2])


def demand_of_job(setup: Setup, job: Job, value_bytes: int) -> Demand:
    """Returns the demand of one job of a sequence."""
    return Demand(
        size=setup.size,
        elements=0 if job.matrix is None else len(setup.matrices[job.matrix].rows),
        iterations=1 + job.second,
        program=setup.programs[job.program],
        value_bytes=value_bytes,
    )


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Bytes of memory traffic and cycles of a computation."""

    bytes: int
    cycles: float

    def __add__(self, other: Spent) -> Spent:
        return Spent(bytes=self.bytes + other.bytes, cycles=self.cycles + other.cycles)


def _at_the_roof(machine: Machine, bytes_: int, operations: int) -> Spent:
    cycles = max(bytes_ / machine.bytes_a_cycle, operations / machine.lanes)
    return Spent(bytes=bytes_, cycles=cycles)


def ideal(machine: Machine, demand: Demand) -> Spent:
    """Operator after operator."""
    total = Spent(bytes=0, cycles=0.0)
    vector, lanes = demand.vector_bytes, demand.size * demand.features
    for iteration in range(demand.iterations):
        if demand.elements:
            products = demand.elements * demand.features
            total += _at_the_roof(machine, demand.matrix_bytes + 2 * vector, products)
        for one in demand.part(iteration):
            moved = vectors_moved(one)
            if moved:
                total += _at_the_roof(machine, moved * vector, lanes)
    return total


def vectors_moved(one: Instruction) -> int:
    """Counts the vectors that a separate operation reads and writes. Vectors that are loaded,
    stored or given as the result are in memory already."""
    if one.operation.name in ("load", "store", "out", "end"):
        return 0
    return len(set(one.reads)) + len(one.of("d"))


def fused(machine: Machine, demand: Demand) -> Spent:
    """Counts products whose element-wise work is fused with them."""
    total = Spent(bytes=0, cycles=0.0)
    for iteration in range(demand.iterations):
        there = bool(demand.elements)
        moved = there + vectors_of_part(demand.part(iteration), result=there)
        total += _at_the_roof(
            machine,
            demand.matrix_bytes + moved * demand.vector_bytes,
            demand.elements * demand.features,
        )
    return total


def vectors_of_part(part: tuple[Instruction, ...], *, result: bool = True) -> int:
    """Vectors that a part loads and stores, each once, and its ``result`` if that is not stored
    anyway."""
    loaded = {one.of("v")[0] for one in part if one.operation.name == "load"}
    stored = {one.of("v")[0]: one.of("a")[0] for one in part if one.operation.name == "store"}
    given = [one.of("a")[0] for one in part if one.operation.name == "out"] or [0]
    written = given[0] in stored.values() or not result
    return len(loaded) + len(stored) + (not written)


def oracle(machine: Machine, demand: Demand) -> Spent:
    """Counts passes of two products each, as long as two are left. Results are sent to the next
    product on chip, and to memory only if the program stores them, or nothing follows. No run takes
    less."""
    if not demand.elements:
        return fused(machine, demand)
    total = Spent(bytes=0, cycles=0.0)
    products = demand.elements * demand.features
    for first in range(0, demand.iterations, 2):
        last, last_two = (first + more == demand.iterations for more in (1, 2))
        moved = (first == 0) + vectors_of_part(demand.part(first), result=last)
        if not last:
            moved += vectors_of_part(demand.part(first + 1), result=last_two)
        total += _at_the_roof(machine, demand.matrix_bytes + moved * demand.vector_bytes, products)
    return total


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
