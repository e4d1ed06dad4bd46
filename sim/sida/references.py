"""Computes the time and the traffic of ideal reference accelerators.

All have the bandwidth and the lanes of one that is real, and always reach one of the two. They
differ in what they read again:

* *ideal*: nothing is kept between operators. Each element-wise operation reads its operands and
  writes its result, and each product reads the matrix, by columns;
* *fused*: the same, but all element-wise work behind a product is done on the way;
* *oracle*: the OEI dataflow with buffers without limits: the matrix once for two products, x from
  memory once in all.

Source: SIDA, methodology (the idealised sparse accelerator, which is what *ideal* is here) and the
oracle of its section on cross-iteration reuse.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...hw.spec.elementwise.instructions import Instruction
from ...hw.spec.elementwise.program import PARTS, Program
from ...hw.spec.sida import INDEX_BITS
from .iterations.jobs import Job, Setup

__all__ = [
    "POINTER_BYTES",
    "Demand",
    "Machine",
    "Spent",
    "demand_of_job",
    "fused",
    "ideal",
    "oracle",
    "vectors_moved",
    "vectors_of_part",
]

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
