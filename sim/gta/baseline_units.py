"""A vector unit with a multiplier for each format: the lanes of Ara, at their best.

Each lane has a datapath of 64 bits, and 32 vector registers share memories as large as GTA's. Where
its programs could lose time, they do not:

* the datapath is always busy: no start-up, no dead time, no ends of vectors, loads and stores
  beside the arithmetic;
* a multiply-add of every format sums in the wide format at full rate, int8 in 32 bits, too, for
  which there is no instruction;
* numbers of the operand that is not a vector cost no cycle, and come from memory once: a cache
  without limits;
* blocks of sums stay in registers until they are complete, as many as registers allow beside two
  loads, of the length that moves least.

Source: the paper's table 1 and section 6.3; RISC-V "V" (vfmacc.vf: reads a vector and sums, writes
sums).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...hw.spec.gta import COLS, ROWS, GtaConfig, element_bytes, is_float, limbs
from .array_cycles import Folds, multiplied
from .schedule.cost import Accesses, Cost, Moved, PGemm, port_cycles

# A systolic array of a format's own, whose shape and dataflow are fixed: weights stay.
#
# It has as many multipliers of whole elements as GTA's limbs make, and as many adders: the
# rectangle closest to a square of as many elements as possible. Memories on chip have no limit, so
# that each operand moves once and a fold takes all of M; folds overlap as GTA's do, and registers
# before and behind the array cost nothing.


def fixed_shape(config: GtaConfig, format_: str) -> tuple[int, int]:
    """Rows and columns, no more rows than columns."""
    each = config.interval(format_) if is_float(format_) else limbs(format_) ** 2
    count = max(1, ROWS * COLS * config.lanes // each)
    shapes = [(rows, count // rows) for rows in range(1, count + 1) if rows * rows <= count]
    return max(shapes, key=lambda shape: (shape[0] * shape[1], shape[0]))


def fixed_array_cost(config: GtaConfig, problem: PGemm) -> Cost:
    """Rows K, columns N, time M. A float takes its turn at an adder within its cycle; ``commands``
    is 0."""
    rows, cols = fixed_shape(config, problem.format)
    row_folds, col_folds = -(-problem.k // rows), -(-problem.n // cols)
    folds = Folds(
        stationary=True, rows=rows, cols=cols, time=problem.m, folds=row_folds * col_folds
    )
    results, each = problem.m * problem.n, problem.element_bytes
    moved = Moved(
        a=problem.m * problem.k * each,
        b=problem.k * problem.n * each,
        sums_read=results * problem.result_bytes if problem.accumulate else 0,
        sums_written=results * problem.result_bytes,
    )
    return Cost(
        cycles=multiplied(folds),
        port_cycles=port_cycles(config, moved),
        accesses=Accesses(
            a=problem.m * problem.k * col_folds,
            b=problem.k * problem.n,
            sums_read=results * (row_folds - (not problem.accumulate)),
            sums_written=results * row_folds,
        ),
        moved=moved,
    )


REGISTERS = 32

_DATAPATH_BYTES = 8


def vector_rate(format_: str) -> int:
    """Multiply-adds of a lane a cycle: 8, 4, 2, 1 of integers, 4, 4, 2, 1 of floats."""
    return _DATAPATH_BYTES // element_bytes(format_)


def vector_unit_cost(config: GtaConfig, problem: PGemm) -> Cost:
    """The best block, of vectors that lie along rows or along columns of D. Accesses are to vector
    registers, loads and stores aside; ``commands`` is 0."""
    turned = replace(problem, m=problem.n, n=problem.m)
    found = [*_blocks(config, problem)]
    for cost in _blocks(config, turned):
        accesses, moved = cost.accesses, cost.moved
        cost = replace(cost, accesses=replace(accesses, a=accesses.b, b=accesses.a))
        found.append(replace(cost, moved=replace(moved, a=moved.b, b=moved.a)))
    return min(found, key=lambda cost: (cost.time, cost.moved.total, cost.accesses.total))


def _blocks(config: GtaConfig, problem: PGemm) -> Iterator[Cost]:
    """Sums take one register a row of the block, or two, four, ...; vectors lie along N."""
    register = config.lanes * config.vector_bytes // REGISTERS
    for held in (1, 2, 4, 8, 16):
        length = min(problem.n, held * register // problem.result_bytes)
        loads = 2 * -(-length * problem.element_bytes // register)
        rows = (REGISTERS - loads) // held
        if rows:
            yield _block_cost(config, problem, length, rows)


def _block_cost(config: GtaConfig, problem: PGemm, length: int, rows: int) -> Cost:
    rate = config.lanes * vector_rate(problem.format)
    chunks, blocks = -(-problem.n // length), -(-problem.m // rows)
    each, results = problem.element_bytes, problem.m * problem.n
    moved = Moved(
        a=problem.m * problem.k * each,
        b=problem.k * problem.n * each * blocks,
        sums_read=results * problem.result_bytes if problem.accumulate else 0,
        sums_written=results * problem.result_bytes,
    )
    added = problem.products - (0 if problem.accumulate else results)
    return Cost(
        cycles=-(-problem.products // rate),
        port_cycles=port_cycles(config, moved),
        accesses=Accesses(
            a=problem.m * problem.k * chunks,
            b=problem.products,
            sums_read=added,
            sums_written=problem.products,
        ),
        moved=moved,
    )
