"""What a p-GEMM in blocks reads, writes and moves, counted element by element."""

from __future__ import annotations

from itertools import product
from typing import Any

from tilewright.hw.spec.gta import is_float, limbs
from tilewright.sim.gta.schedule.cost import Accesses, Moved
from tilewright.sim.gta.schedule.pgemm import PGemm

__all__ = ["counted_accesses", "counted_bytes"]


def _ranges(size: int, each: int) -> list[range]:
    return [range(begin, min(begin + each, size)) for begin in range(0, size, each)]


def counted_accesses(
    problem: PGemm, dataflow: str, array: tuple[int, int], block: tuple[int, int, int]
) -> Accesses:
    """Folds are gone through one by one. Each element that a fold takes in is read once, each sum
    that it makes is written, and read before if it is added to one that is there."""
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
    """Blocks are gone through in order; one of A or B that is there already is not loaded again."""
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
