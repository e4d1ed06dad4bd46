"""Measures the memory that blocks save for a matrix that is stored by columns and by rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...errors import UserError
from ...synth.tables import Row, Table
from .reuse import VERTICES, matrices_of, reordered

__all__ = ["PAPER_SHARE", "sida_storage"]

PAPER_SHARE = 39.2
"""Share of dual storage in the paper, in percent, with values of 64 bits, in any order."""
_VALUES = {"fp64": 8, "fp32": 4}
"""Bytes of a value."""


def sida_storage(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    files: Sequence[Path] = (),
    vertices: int = VERTICES,
) -> Table:
    """Matrices of the files, or generated ones if there are none, as they are and in each order of
    ``ORDERS``: memory that they take in blocks, in percent of that by columns and by rows; what is
    read in a pass by blocks, in percent of that by columns; rows and columns of a block, the best
    of ``SIDES`` for fp64, and elements in one.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised; and for a
    file that is no square matrix.
    """
    if target != "cmos":
        raise UserError(f"sida-storage is computed by a model: no --target, not {target!r}")
    from ...hw.spec.formats import FORMATS
    from ...sim.sida.blocked import best_side, flat_bytes
    from ...sim.sida.iterations.graphs import columns_of
    from ...sim.sida.order import ORDERS

    rows: list[Row] = []
    for name, matrix in matrices_of(files, vertices):
        progress(name)
        stored: dict[str, list[float]] = {value: [] for value in _VALUES}
        read: dict[str, list[float]] = {value: [] for value in _VALUES}
        sides, filled = [], []
        for order in (None, *ORDERS.values()):
            found = matrix if order is None else reordered(matrix, order)
            columns = columns_of(found, FORMATS["fp64"])
            best = best_side(columns, _VALUES["fp64"])
            sides.append(float(best.side))
            filled.append(len(columns.rows) / max(1, best.blocks))
            for value, size in _VALUES.items():
                flat = flat_bytes(columns, size)
                stored[value].append(100 * best.bytes(size) / (2 * flat))
                read[value].append(100 * best.column_bytes(size) / flat)
        none = [None] * len(sides)
        for value in _VALUES:
            paper = [PAPER_SHARE] * len(sides) if value == "fp64" else none
            label = f"{name}: memory, {value}, %" if value == "fp64" else f"memory, {value}, %"
            rows.append(Row(label, paper, stored[value], 1))
        rows += [Row(f"read in a pass, {value}, %", none, read[value], 1) for value in _VALUES]
        rows += [Row("side of a block", none, sides, 0), Row("elements in one", none, filled, 1)]
    return Table("sida-storage, blocks", "model", ["as it is", *ORDERS], rows)
