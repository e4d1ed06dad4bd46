"""Checks the bytes that ideal accelerators move: a small program counted by hand, and rules that
any program keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.elementwise.program import Program
from tilewright.sim.sida.iterations.programs import CORENESS, PAGERANK, PATHS, REACH
from tilewright.sim.sida.references import (
    Demand,
    Machine,
    fused,
    ideal,
    oracle,
    vectors_moved,
    vectors_of_part,
)

PROGRAM = assemble(
    "scalar s\nvector a\nvector b\nreduce r sum\n"
    "e1:\n load r1, a\n mul r2, y, r1\n add r3, r2, s\n reduce r, r3\n store b, r3\n out r3\n"
    "e2:\n load r1, b\n sub r2, r1, y\n out r2"
)
DEMAND = Demand(size=100, elements=1000, iterations=4, program=PROGRAM)
MATRIX = 1000 * 8 + 101 * 4
VECTOR = 400
SLOW = Machine(bytes_a_cycle=64, lanes=1 << 20)


def test_vectors() -> None:
    """Two operands and a result, one and one, one of a reduction; nothing of loads and stores."""
    assert [vectors_moved(one) for one in PROGRAM.e1] == [0, 3, 2, 1, 0, 0]
    assert [vectors_moved(one) for one in PROGRAM.e2] == [0, 3, 0]
    # The result of E1 is stored as b; that of E2 is not stored.
    assert vectors_of_part(PROGRAM.e1) == vectors_of_part(PROGRAM.e1, result=False) == 2
    assert vectors_of_part(PROGRAM.e2) == 2
    assert vectors_of_part(PROGRAM.e2, result=False) == 1
    assert vectors_of_part(()) == 1
    assert vectors_of_part((), result=False) == 0


def test_bytes_by_hand() -> None:
    assert (DEMAND.matrix_bytes, DEMAND.vector_bytes) == (MATRIX, VECTOR)
    assert ideal(SLOW, DEMAND).bytes == 4 * (MATRIX + 2 * VECTOR) + 2 * (6 + 3) * VECTOR
    assert fused(SLOW, DEMAND).bytes == 4 * (MATRIX + VECTOR) + 2 * (2 + 2) * VECTOR
    # A pass: the matrix, a and b, b; x before the first one, the result behind the last one.
    assert oracle(SLOW, DEMAND).bytes == 2 * (MATRIX + 3 * VECTOR) + 2 * VECTOR
    odd = replace(DEMAND, iterations=3)
    assert oracle(SLOW, odd).bytes == 2 * MATRIX + (1 + 3 + 2) * VECTOR
    for reference in (ideal, fused, oracle):
        found = reference(SLOW, DEMAND)
        assert found.cycles == pytest.approx(found.bytes / 64)


def test_work_without_a_matrix() -> None:
    """Element-wise work alone has no pointers, no products and no operand."""
    sweeps = replace(DEMAND, elements=0, iterations=2)
    assert sweeps.matrix_bytes == 0
    assert ideal(SLOW, sweeps).bytes == (6 + 3) * VECTOR
    # E1: a, b; E2: b, whose result is not stored.
    assert fused(SLOW, sweeps).bytes == oracle(SLOW, sweeps).bytes == (2 + 1) * VECTOR


def test_where_lanes_are_the_limit() -> None:
    machine = Machine(bytes_a_cycle=1 << 30, lanes=10)
    assert fused(machine, DEMAND).cycles == 4 * 1000 / 10
    assert oracle(machine, DEMAND).cycles == 2 * 1000 / 10
    assert ideal(machine, DEMAND).cycles == 4 * 1000 / 10 + 2 * (3 + 1) * 100 / 10
    wide = replace(DEMAND, features=3)
    assert fused(machine, wide).cycles == 3 * 4 * 1000 / 10


@pytest.mark.parametrize("program", [PAGERANK, REACH, PATHS, CORENESS])
@pytest.mark.parametrize("iterations", [1, 2, 5, 8])
def test_each_is_better_than_the_one_before(program: Program, iterations: int) -> None:
    """No pass is worth more than two iterations that read x from memory and write their result."""
    demand = replace(DEMAND, program=program, iterations=iterations)
    one, two, three = (reference(SLOW, demand) for reference in (ideal, fused, oracle))
    assert one.cycles > two.cycles >= three.cycles
    on_chip = 2 * iterations * VECTOR / SLOW.bytes_a_cycle
    assert two.cycles <= 2 * three.cycles + on_chip
    if iterations == 1:
        assert two == three
