"""Sweeps of a linear stencil on a tensor unit, against NumPy's one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import UserError
from ...sim.tcu import TensorUnit
from ...sim.tcu.formulas.stencils import blocks_of
from ...sim.tcu.formulas.transform import fast_length
from ...sim.tcu.stencils.linear import (
    exact_fields,
    stencil,
    stencil_error,
    stencil_underflow,
    sweeps_error,
    sweeps_underflow,
)
from ...sim.tcu.words import COMPLEX, FP64, Array
from ...sim.tcu.words.floats import Floats
from ...sim.tcu.words.integers import Integers
from ..common.agreement import Agreement, exactly, within
from ..common.limits import check_operations, check_size, counted
from ..common.matrix_files import read_matrix, write_array
from .algorithm_report import tcu_report
from .options import TcuChoice
from .unit import as_words, computing, open_unit, smaller_than_a_block, words_for

__all__ = ["sweep_grid"]


def sweep_grid(
    choice: TcuChoice,
    file: Path,
    weights: Path,
    steps: int,
    boundary: str,
    words: str | None,
    output: Path | None,
) -> None:
    """Sweep over the grid of a file, write the result if that is asked for, and report."""
    cells, taps = read_matrix(file), read_matrix(weights)
    if taps.shape != (3, 3):
        raise UserError(f"{weights}: must be 3 x 3, not {taps.shape[0]} x {taps.shape[1]}")
    if not np.isfinite(taps).all():
        raise UserError(f"{weights}: must hold finite numbers, not nan or inf")
    kind = words_for(words, None, cells, taps)
    grid, taps = as_words(file, cells, kind), as_words(weights, taps, kind)
    rows, columns = grid.shape
    length, blocks = fast_length(3 * steps, choice.side), blocks_of(rows, columns, steps)
    about = f"{counted(steps, 'sweep')} over {file}"
    check_size(f"the blocks of {about}", blocks, length, length)
    check_operations(about, rows * columns * steps, "choose fewer --steps")
    unit = open_unit(choice, kind)
    with computing(unit, about):
        found = stencil(unit, grid, taps, steps, boundary)
    lines = [
        ("grid", f"{rows:,} x {columns:,}, {boundary}"),
        ("blocks", f"{counted(blocks, 'block')} of {steps:,} x {steps:,}, convolved in "
                   f"{length:,} x {length:,}"),
        *smaller_than_a_block(unit.s, length),
    ]  # fmt: skip
    primes = None
    if isinstance(kind, Integers):
        primes = [field.modulus for field in exact_fields(unit, grid, taps, steps)]
        lines.append(("modulo", ", ".join(f"{prime:,}" for prime in primes)))
    if output:
        write_array(output, found)
        lines.append(("written", str(output)))
    details = {"shape": [rows, columns], "steps": steps, "boundary": boundary, "blocks": blocks,
               "length": length, "primes": primes}  # fmt: skip
    agreement = _agreement(unit, found, grid, taps, steps, boundary)
    title = f"{counted(steps, 'sweep')} over {file.name}"
    tcu_report("stencil", title, lines, choice, unit, [agreement], details).finish()


def _agreement(
    unit: TensorUnit, found: Array, grid: Array, taps: Array, steps: int, boundary: str
) -> Agreement:
    """Compares with sweeps: integers modulo 2^64, which is exact as no word has overflowed."""
    words = unit.words
    if not isinstance(words, Floats):
        return exactly("sweeps in NumPy", found, _sweeps(grid, taps, steps, boundary))
    wide = COMPLEX if words.dtype.kind == "c" else FP64
    x, w = grid.astype(wide.dtype), taps.astype(wide.dtype)
    with np.errstate(all="ignore"):
        true = _sweeps(x, w, steps, boundary)
        total, largest = float(np.abs(w).sum()), float(np.abs(x).max())
        error = _bound(total, steps, unit.s, words, largest)
        error += _bound(total, steps, None, wide, largest)
    bound = np.full(2 * true.size, error)
    return within(f"sweeps in NumPy, {wide.name}", _parts(found), _parts(true), bound)


def _bound(total: float, steps: int, s: int | None, words: Floats, largest: float) -> float:
    """Bounds the error of the stencil on a unit of side ``s``, or of sweeps if that is None.
    ``total`` is the sum of the weights' magnitudes, ``largest`` that of the cells; infinite if
    floats do not hold the bound."""
    try:
        if s is None:
            lost = sweeps_underflow(total, steps, words)
            return sweeps_error(total, steps, words) * largest + lost
        lost = stencil_underflow(total, steps, s, words, largest)
        return stencil_error(total, steps, s, words) * largest + lost
    except OverflowError:
        return float("inf")


def _parts(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers.astype(complex)).reshape(-1).view(np.float64)


def _sweeps(grid: Array, taps: Array, steps: int, boundary: str) -> Array:
    """Sweeps one by one; an open plane is padded for all that leaves the grid."""
    around = steps if boundary == "open" else 0
    cells = np.pad(grid, around)
    for _ in range(steps):
        swept = np.zeros_like(cells)
        for i, x in enumerate((-1, 0, 1)):
            for j, y in enumerate((-1, 0, 1)):
                swept += taps[i, j] * np.roll(cells, (-x, -y), (0, 1))
        cells = swept
    rows, columns = grid.shape
    return cells[around : around + rows, around : around + columns]
