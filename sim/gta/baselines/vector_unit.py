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

from ....hw.spec.gta import GtaConfig, element_bytes
from ..schedule.block_cost import PGemm, port_cycles
from ..schedule.cost import Accesses, Cost, Moved

__all__ = ["REGISTERS", "vector_rate", "vector_unit_cost"]

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
