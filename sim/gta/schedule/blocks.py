"""Blocks that a p-GEMM is best cut into, a command each, so that they fit the lanes' memories."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ....hw.spec.gta import is_float, limbs
from .block_cost import Placed, block_cost
from .capacity import Block, needed
from .cost import Cost
from .pgemm import PGemm

__all__ = ["DoesNotFit", "best_blocks"]


class DoesNotFit(ValueError):
    """Not even a fold's operands fit the memories of lanes."""


def best_blocks(placed: Placed, problem: PGemm, longest: int = 0) -> tuple[Block, Cost]:
    """The blocks that take the least time, then cycles, bytes and commands; of at most ``longest``
    products a sum, if given. Raises DoesNotFit if none fits the memories of lanes."""
    blocks = {(m, n, min(k, longest or k)) for m, n, k in _blocks(placed, problem)}
    if not blocks:
        raise DoesNotFit(
            f"no block of {placed.dataflow} {placed.rows}x{placed.cols} fits `vector_bytes` "
            f"{placed.config.vector_bytes} in {problem.format}"
        )
    found = [(block, block_cost(placed, problem, block)) for block in blocks]
    return min(found, key=lambda one: (*_order(one[1]), one[0]))


def _order(cost: Cost) -> tuple[int, ...]:
    return cost.time, cost.cycles, cost.moved.total, cost.commands


def _blocks(placed: Placed, problem: PGemm) -> Iterator[Block]:
    """All at once if that fits, and what is cut into blocks of as many folds down and across as
    powers of two, and as much of what is left as fits half of each memory: the other half is
    loaded, or stored, meanwhile."""
    config = placed.config
    whole = (problem.m, problem.n, problem.k)
    if needed(problem, placed.dataflow, placed.array, whole).fits(config, 1):
        yield whole
    for block in _cut(placed, problem):
        if needed(problem, placed.dataflow, placed.array, block).fits(config, 2):
            yield block


def _cut(placed: Placed, problem: PGemm) -> Iterator[Block]:
    """Two sizes as they come, the third the largest that fits."""
    rows, cols = placed.array
    length = limbs(problem.format)
    if placed.dataflow == "ws":
        for k, n in product(_sizes(problem.k, rows), _sizes(problem.n, cols // length)):
            yield from _largest(placed, problem, (0, n, k))
    else:
        each = 1 if is_float(problem.format) else length
        for m, n in product(_sizes(problem.m, rows // each), _sizes(problem.n, cols // each)):
            yield from _largest(placed, problem, (m, n, 0))


def _sizes(size: int, unit: int) -> list[int]:
    """Multiples of what a fold takes, evened out over as many blocks."""
    folds = -(-size // unit)
    blocks = {-(-folds // (1 << power)) for power in range(folds.bit_length() + 1)}
    return sorted({min(size, unit * -(-folds // count)) for count in blocks})


def _largest(placed: Placed, problem: PGemm, block: Block) -> Iterator[Block]:
    """With the largest size in place of the 0 that fits half of the memories, evened out."""
    size = (problem.m, problem.n, problem.k)[block.index(0)]

    def filled(value: int) -> Block:
        m, n, k = (each or value for each in block)
        return m, n, k

    low, high = 0, size
    while low < high:
        middle = (low + high + 1) // 2
        one = needed(problem, placed.dataflow, placed.array, filled(middle))
        low, high = (middle, high) if one.fits(placed.config, 2) else (low, middle - 1)
    if low:
        yield filled(-(-size // -(-size // low)))
