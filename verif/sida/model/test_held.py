"""Checks the elements that the OEI dataflow buffers, step by step, and its known figures."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import csr_array, tril
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.elementwise.instructions import INSTRUCTIONS
from tilewright.hw.spec.elementwise.program import Program
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.held import held
from tilewright.sim.sida.iterations.graphs import reach
from tilewright.sim.sida.iterations.programs import CORENESS, PAGERANK, PATHS, REACH
from tilewright.sim.sida.references import (
    Demand,
    Machine,
    fused,
    ideal,
    ideal_bytes,
    oracle,
    pass_bytes,
    vectors_moved,
    vectors_of_part,
)
from tilewright.sim.sida.result.products import Columns, Rules
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.kit.sampling import cases

KNOWN = {
    "p2p-Gnutella31": (19.8, 13.9),
    "cryg2500": (1.3, 1.2),
    "west0067": (16.7, 11.7),
    "karate": (22.4, 18.0),
}
"""The most and the mean that wait, in percent."""


def waiting(places: set[tuple[int, int]], size: int, subtensor: int) -> list[int]:
    """Returns the elements on chip after each step of a pass that follows only the rules."""
    steps = -(-size // subtensor)
    on_chip: set[tuple[int, int]] = set()
    found = []
    for step in range(steps):
        # The first product brings a step's columns; the second one takes all rows that are due.
        on_chip |= {(row, col) for row, col in places if col // subtensor == step}
        on_chip -= {(row, col) for row, col in on_chip if row // subtensor + 2 <= step}
        found.append(len(on_chip))
    return found


def test_step_by_step() -> None:
    rng = np.random.default_rng(1)
    for _ in range(cases(200)):
        size = int(rng.integers(1, 12))
        subtensor = int(rng.integers(1, 4))
        every = np.argwhere(rng.random((size, size)) < rng.random())
        found = held(every[:, 0], every[:, 1], size, subtensor)
        expected = waiting({(int(r), int(c)) for r, c in every}, size, subtensor)
        assert (found.steps, found.elements) == (len(expected), len(every))
        assert (found.peak, found.total) == (max(expected), sum(expected))
        assert found.mean == pytest.approx(np.mean(expected))
        assert found.peak_share * len(every) == pytest.approx(max(expected))
        assert found.mean_share * len(every) == pytest.approx(np.mean(expected))


def test_triangles() -> None:
    """Above the diagonal nothing waits; below it everything until its row."""
    rows, cols = np.triu_indices(20, 2)
    assert held(rows, cols, 20).peak == 0
    after = [sum(20 - max(c + 2, s - 1) for c in range(min(s + 1, 18))) for s in range(20)]
    assert held(cols, rows, 20).peak == max(after)


def test_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert held(none, none, 5).peak_share == 0
    empty = held(none, none, 0)
    assert (empty.mean, empty.mean_share, empty.steps) == (0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subtensor": 0}, "`subtensor` must be at least 1, not 0"),
        ({"rows": np.array([0, 3])}, "`rows` must be in 0..2, not 3"),
        ({"cols": np.array([-1, 1])}, "`cols` must be in 0..2, not -1"),
        ({"cols": np.array([1])}, "`cols` must be as many as `rows`, 2, not 1"),
    ],
)
def test_refusals(changes: dict[str, object], message: str) -> None:
    given = {"rows": np.array([0, 1]), "cols": np.array([1, 2]), "size": 3, **changes}
    with pytest.raises(ValueError, match=f"^{message}$"):
        held(**given)  # type: ignore[arg-type]


@needs_data
@pytest.mark.parametrize("name", KNOWN)
def test_known_figures(name: str) -> None:
    matrix = mmread(data_file(f"matrices/{name}.mtx")).tocoo()
    found = held(matrix.row, matrix.col, matrix.shape[0])
    shares = (round(100 * found.peak_share, 1), round(100 * found.mean_share, 1))
    assert shares == KNOWN[name]


@needs_data
def test_known_figures_of_a_half() -> None:
    half = tril(mmread(data_file("matrices/karate.mtx"))).tocoo()
    found = held(half.row, half.col, half.shape[0])
    assert round(100 * found.peak_share, 1) == 43.6
    assert round(100 * found.mean_share, 1) == 35.7


# Bytes that a pass moves on chip, by hand.


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


# Checks the bytes that ideal accelerators move: a small program counted by hand, and rules that
# any program keeps.

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


# The page of the dataflow: its example runs, and its drawing agrees with the counts of `held`.

PAGE = page("oei.md")


def test_the_examples_run() -> None:
    blocks = examples(PAGE, "python")
    assert len(blocks) == 2
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})


def test_the_program_assembles() -> None:
    text = re.search(r"^```\n(scalar.*?)^```", PAGE.read_text(), re.M | re.S)
    assert text is not None
    program = assemble(text[1], words=64)
    assert (len(program.e1), len(program.e2)) == (6, 6)


def test_every_instruction_is_there() -> None:
    """The page lists every instruction in the assembler's syntax; reductions have their own
    sentence."""
    names = {"v": "V", "m": "M"}
    expected = [
        f"| `{one.name} {', '.join(names.get(kind, kind) for kind in one.operands)}` | {one.doc} |"
        for one in INSTRUCTIONS.values()
        if one.name != "end" and "s" not in one.operands
    ]
    assert [line for line in PAGE.read_text().splitlines() if line in expected] == expected


def test_the_drawing() -> None:
    """The drawing has every element's step, and the elements that arrive, are used and wait in
    each."""
    lines = re.findall(r"^       ([0-5]) ((?:[.\d] ){6})", PAGE.read_text(), re.M)
    steps = {
        (int(row), col): int(cell)
        for row, cells in lines
        for col, cell in enumerate(cells.split())
        if cell != "."
    }
    assert steps == {(row, col): max(col, row + 2) for row, col in steps}
    rows, cols = (np.array(each) for each in zip(*steps, strict=True))
    listed = re.findall(
        r"  (\d)     (-|(?:\d,\d ?)+) +(-|(?:\d,\d ?)+) +(\d)$", PAGE.read_text(), re.M
    )
    waits = 0
    for number, (step, comes, used, after) in enumerate(listed):
        assert int(step) == number
        assert set(comes.split()) - {"-"} == {f"{r},{c}" for r, c in steps if c == number}
        again = {f"{r},{c}" for (r, c), when in steps.items() if when == number}
        assert set(used.split()) - {"-"} == again
        waits += len(set(comes.split()) - {"-"}) - len(again)
        assert int(after) == waits
    assert len(listed) == 8
    found = held(rows, cols, 6)
    assert found.peak == max(int(after) for *_, after in listed)
