"""A systolic array of a format's own, whose shape and dataflow are fixed: weights stay.

It has as many multipliers of whole elements as GTA's limbs make, and as many adders: the rectangle
closest to a square of as many elements as possible. Memories on chip have no limit, so that each
operand moves once and a fold takes all of M; folds overlap as GTA's do, and registers before and
behind the array cost nothing.
"""

from __future__ import annotations

from ....hw.spec.gta import COLS, ROWS, GtaConfig, is_float, limbs
from ..array_cycles import Folds, multiplied
from ..schedule.block_cost import PGemm, port_cycles
from ..schedule.cost import Accesses, Cost, Moved

__all__ = ["fixed_array_cost", "fixed_shape"]


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
