"""Bytes that a pass moves on chip, by hand."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.iterations.graphs import reach
from tilewright.sim.sida.levels import ideal_bytes, pass_bytes
from tilewright.sim.sida.references import Demand, vectors_moved
from tilewright.sim.sida.result.products import Columns, Rules


def test_which_elements_wait() -> None:
    """Steps have four columns: a row waits unless its column is two steps after it."""
    columns, rows = np.divmod(np.arange(16 * 16), 16)
    matrix = Columns(pointers=16 * np.arange(17), rows=rows, values=np.zeros(256, np.uint64))
    slow = [
        max(column // 4, row // 4 + 2) > column // 4
        for row, column in zip(rows, columns, strict=True)
    ]
    assert matrix.late(4).tolist() == slow


def test_a_pass_by_hand() -> None:
    """A chain of 64 vertices, pes 4, steps of 8, fp32: each of its 63 edges leads to the next
    vertex, so that all wait."""
    chain = csr_array((np.ones(63), (np.arange(63), np.arange(1, 64))), shape=(64, 64))
    problem = reach(Rules(fmt=FORMATS["fp32"]), chain, [0])
    config = SidaConfig(pes=4, subtensor=8, vector_words=64, buffer_words=64)
    found = pass_bytes(config, problem, {"bytes_read": 1000, "bytes_written": 500})
    assert found.blocks == 3000
    assert found.operands == 2 * 4 * (64 + 63)
    assert found.rows == 2 * 4 * 64
    assert found.z == 4 * (4 * 64 + 63)
    # 32 bits of the value, 3 of a row of 8, 4 of a column of the 16 of a bank.
    assert found.held == 2 * 63 * 39 // 8
    assert found.w == 2 * 4 * (64 + 63)
    parts = (found.blocks, found.operands, found.rows, found.z, found.held, found.w)
    assert found.total == sum(parts)


def test_the_ideal_by_hand() -> None:
    """The first case is one product without work after it. The work of a program moves twice what
    its operations read and write."""
    chain = csr_array((np.ones(63), (np.arange(63), np.arange(1, 64))), shape=(64, 64))
    program = reach(Rules(fmt=FORMATS["fp32"]), chain, [0]).program
    demand = Demand(size=64, elements=63, iterations=1, program=program)
    matrix, vector = 63 * 8 + 65 * 4, 64 * 4
    work = sum(vectors_moved(one) for one in program.e1) * vector
    once = 2 * (matrix + 2 * vector + work) + (63 * 4 + vector) + 2 * vector
    assert ideal_bytes(demand) == once
