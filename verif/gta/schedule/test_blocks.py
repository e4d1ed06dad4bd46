"""Blocks of a p-GEMM: what they read, write and move, whether they fit, and which are chosen."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig, is_float, limbs
from tilewright.sim.gta.array_cycles import chain_cycles
from tilewright.sim.gta.array_job import ArrayJob
from tilewright.sim.gta.schedule.cost import (
    Accesses,
    Moved,
    Needed,
    PGemm,
    Placed,
    block_cost,
    needed,
    port_cycles,
)
from tilewright.sim.gta.schedule.segmented_cost import DoesNotFit, best_blocks
from tilewright.verif.kit.sampling import cases


def _ranges(size: int, each: int) -> list[range]:
    return [range(begin, min(begin + each, size)) for begin in range(0, size, each)]


def counted_accesses(
    problem: PGemm, dataflow: str, array: tuple[int, int], block: tuple[int, int, int]
) -> Accesses:
    """Counts accesses fold by fold. A fold reads each of its elements once and writes each of its
    sums; it reads the sum first if it adds to one."""
    length = 1 if is_float(problem.format) else limbs(problem.format)
    rows, cols = array
    read_a = read_b = read_sums = written = 0
    begun: set[tuple[int, int]] = set()
    if problem.accumulate:
        begun = set(product(range(problem.m), range(problem.n)))
    sizes = (problem.m, problem.n, problem.k)
    for m, n, k in product(*(_ranges(s, b) for s, b in zip(sizes, block, strict=True))):
        for ms, ns, ks in _folds(dataflow, length, rows, cols, m, n, k):
            read_a += len(ms) * len(ks)
            read_b += len(ks) * len(ns)
            for sum_ in product(ms, ns):
                read_sums += sum_ in begun
                written += 1
                begun.add(sum_)
    return Accesses(a=read_a, b=read_b, sums_read=read_sums, sums_written=written)


def _folds(
    dataflow: str, length: int, rows: int, cols: int, m: range, n: range, k: range
) -> list[tuple[Any, Any, Any]]:
    across = [list(n[i : i + cols // length]) for i in range(0, len(n), cols // length)]
    if dataflow == "ws":
        down = [list(k[i : i + rows]) for i in range(0, len(k), rows)]
        return [(m, ns, ks) for ks, ns in product(down, across)]
    down = [list(m[i : i + rows // length]) for i in range(0, len(m), rows // length)]
    return [(ms, ns, k) for ms, ns in product(down, across)]


def counted_bytes(problem: PGemm, block: tuple[int, int, int], lateral: bool) -> Moved:
    """Counts bytes block by block; a block of A or B that is still resident is not loaded again."""
    m, n, k = (_ranges(s, b) for s, b in zip((problem.m, problem.n, problem.k), block, strict=True))
    sums = [(one, other) for one in m for other in n]
    if not lateral:
        sums = [(one, other) for other in n for one in m]
    a = b = 0
    last_a = last_b = None
    for rows, cols in sums:
        for part in k:
            if last_a != (rows, part):
                a, last_a = a + len(rows) * len(part), (rows, part)
            if last_b != (part, cols):
                b, last_b = b + len(part) * len(cols), (part, cols)
    results = problem.m * problem.n * problem.result_bytes
    return Moved(
        a=a * problem.element_bytes,
        b=b * problem.element_bytes,
        sums_read=results if problem.accumulate else 0,
        sums_written=results,
    )


pytestmark = pytest.mark.quick

CONFIG = GtaConfig()


def random_problem(rng: np.random.Generator) -> tuple[Placed, PGemm]:
    name = str(rng.choice(FORMATS_OF_GTA))
    dataflow = "os" if is_float(name) else str(rng.choice(["ws", "os"]))
    rows, cols = [(1, 4), (2, 2), (4, 1), (1, 1)][rng.integers(4)]
    m, n, k = (int(size) for size in rng.integers(1, 60, 3))
    lateral, accumulate = (bool(flag) for flag in rng.integers(0, 2, 2))
    placed = Placed(config=CONFIG, dataflow=dataflow, rows=rows, cols=cols, lateral=lateral)
    return placed, PGemm(m=m, n=n, k=k, format=name, accumulate=accumulate)


@pytest.mark.parametrize("seed", range(cases(100)))
def test_counts(seed: int) -> None:
    """Counts accesses, bytes, commands and their cycles of random blocks, whether they fit or
    not."""
    rng = np.random.default_rng(seed)
    placed, problem = random_problem(rng)
    sizes = (problem.m, problem.n, problem.k)
    m, n, k = (int(rng.integers(1, size + 1)) for size in sizes)
    cost = block_cost(placed, problem, (m, n, k))
    counted = counted_accesses(problem, placed.dataflow, placed.array, (m, n, k))
    assert cost.accesses == counted
    assert cost.moved == counted_bytes(problem, (m, n, k), placed.lateral)
    jobs = []
    for begin_m, begin_n, begin_k in product(
        range(0, problem.m, m), range(0, problem.n, n), range(0, problem.k, k)
    ):
        job = ArrayJob(
            m=min(m, problem.m - begin_m),
            n=min(n, problem.n - begin_n),
            k=min(k, problem.k - begin_k),
            format=problem.format,
            dataflow=placed.dataflow,
            rows=placed.rows,
            cols=placed.cols,
        )
        jobs.append((1, job))
    assert cost.commands == len(jobs)
    assert cost.cycles == chain_cycles(CONFIG, jobs)
    assert cost.port_cycles == port_cycles(CONFIG, cost.moved)
    assert cost.time == max(cost.cycles, cost.port_cycles)


@pytest.mark.parametrize("seed", range(cases(50)))
def test_the_best_blocks_fit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    placed, problem = random_problem(rng)
    block, cost = best_blocks(placed, problem)
    whole = block == (problem.m, problem.n, problem.k)
    found = needed(problem, placed.dataflow, placed.array, block)
    assert found.fits(CONFIG, 1 if whole else 2)
    assert cost == block_cost(placed, problem, block)
    shorter, _ = best_blocks(placed, problem, longest=5)
    assert shorter[2] <= 5


def test_words_of_blocks() -> None:
    """Counted by hand: of 16 x 16 elements, banks of 32 words of 16 and of 32 bytes."""
    array = (16, 16)
    # 40 bytes of A a row, two folds down; three across; 20 results of 4 bytes in a bank of two.
    problem = PGemm(m=20, n=24, k=20, format="int16")
    assert needed(problem, "ws", array, (20, 24, 20)) == Needed(left=6, top=6, result=6)
    # Weights of row folds share words on arrays of 8 rows.
    assert needed(problem, "ws", (8, 32), (20, 24, 20)) == Needed(left=9, top=4, result=4)
    # Two limbs a row: 20 bytes; 24 sums of a group in two banks, in three folds.
    assert needed(problem, "os", array, (20, 24, 20)) == Needed(left=6, top=6, result=6)
    # 16 sums of 8 bytes of a lane's column, in two folds.
    floats = PGemm(m=20, n=24, k=5, format="fp64")
    assert needed(floats, "os", array, (20, 24, 5)) == Needed(left=6, top=6, result=8)
    assert Needed(left=32, top=1, result=32).fits(CONFIG, 1)
    assert not Needed(left=32, top=1, result=32).fits(CONFIG, 2)
    assert not Needed(left=1, top=33, result=1).fits(CONFIG, 1)
    assert not Needed(left=1, top=1, result=33).fits(CONFIG, 1)


def test_the_busier_port() -> None:
    moved = Moved(a=100, b=50, sums_read=11, sums_written=1000)
    assert port_cycles(CONFIG, moved) == 63
    assert port_cycles(GtaConfig(managers=1), moved) == 73
    assert port_cycles(GtaConfig(data_bits=512), moved) == 16
    assert port_cycles(CONFIG, Moved(a=33)) == 3


def test_a_fold_that_does_not_fit() -> None:
    config = GtaConfig(vector_bytes=2048, lanes=64)
    placed = Placed(config=config, dataflow="ws", rows=64, cols=1, lateral=True)
    said = "no block of ws 64x1 fits `vector_bytes` 2048 in int8"
    with pytest.raises(DoesNotFit, match=f"^{re.escape(said)}$"):
        best_blocks(placed, PGemm(m=1000, n=1000, k=1000, format="int8"))
