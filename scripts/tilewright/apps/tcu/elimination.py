"""Gaussian elimination on a tensor unit, checked by the product of its factors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...errors import UserError
from ...sim.tcu.dense.rounding import product_error
from ...sim.tcu.elimination.blocked import (
    PivotError,
    eliminate,
    factors_error,
    growth,
    lower,
    residual_error,
    upper,
)
from ...sim.tcu.elimination.substitution import solve
from ...sim.tcu.tensor_unit import multiple
from ...sim.tcu.words import COMPLEX, FP64, Array, Words
from ...sim.tcu.words.floats import Floats
from ...sim.tcu.words.modular import Residues
from ..common.agreement import Agreement, within
from ..common.limits import check_operations, counted
from ..common.matrix_files import read_array, read_matrix, write_array
from .algorithm_report import tcu_report
from .options import TcuChoice, check_squares
from .products import modulo
from .unit import (
    as_words,
    computing,
    open_unit,
    padded_to,
    smaller_than_a_block,
    words_for,
    work_of,
)

__all__ = ["eliminate_file"]


def eliminate_file(
    choice: TcuChoice,
    words: str | None,
    modulus: int | None,
    file: Path,
    right: Path | None,
    output: Path | None,
) -> None:
    """Eliminate a file's matrix, solve for a file's right sides, write the requested files, and
    report."""
    numbers = [(file, read_matrix(file))]
    check_squares([(path, matrix.shape) for path, matrix in numbers])
    n = len(numbers[0][1])
    if right:
        numbers.append((right, _right_sides(right, file, n)))
    kind = words_for(words, modulus, *(one for _, one in numbers))
    if isinstance(kind, Floats) and not np.isfinite(numbers[0][1]).all():
        raise UserError(f"{file}: must hold finite numbers, not nan or inf")
    a, *given = (as_words(path, one, kind) for path, one in numbers)
    check_operations(
        f"elimination in {file}", work_of("eliminate", choice, n=n).calls, "choose a larger --m"
    )
    unit = open_unit(choice, kind)
    with computing(unit, str(file)), _pivots_refused(file, kind):
        found = eliminate(unit, a)
        solved = [solve(unit, found, b) for b in given]
        agreements = [_factors(a, found, kind)]
        agreements += [_residuals(a, found, x, b, kind) for x, b in zip(solved, given, strict=True)]
        grown = growth(a, found) if isinstance(kind, Floats) else None
    wide = multiple(n, unit.s)
    rows = [
        ("matrix", f"{n:,} x {n:,}{padded_to((n, n), (wide, wide))}"),
        *smaller_than_a_block(unit.s, n),
    ]
    rows += [("growth", f"{grown:.4g}: U beside A")] if grown is not None else []
    sides = [b.size // n for b in given]
    rows += [("solved", f"{counted(columns, 'right side')}, by the CPU") for columns in sides]
    if output:
        write_array(output, solved[0] if solved else found)
        rows.append(("written", str(output)))
    details = {"side": n, "growth": grown, "right_sides": sum(sides), "modulus": modulus}
    tcu_report("eliminate", file.name, rows, choice, unit, agreements, details).finish()


@contextmanager
def _pivots_refused(file: Path, words: Words) -> Iterator[None]:
    """Meanwhile a pivot that cannot be divided by is a UserError that names what exchanges rows, if
    it has such words."""
    try:
        yield
    except PivotError as error:
        instead = "; run lu exchanges them" if isinstance(words, Floats) else ""
        raise UserError(f"{file}: {error}{instead}") from None


def _right_sides(path: Path, matrix: Path, n: int) -> Array:
    b = read_array(path)
    if b.ndim not in (1, 2) or b.shape[0] != n:
        shape = " x ".join(map(str, b.shape))
        raise UserError(f"{path}: must have {n} rows, as {matrix} has, not be {shape}")
    return b


def _factors(a: Array, triangles: Array, words: Words) -> Agreement:
    """A beside L U."""
    if isinstance(words, Residues):
        return modulo(a, lower(triangles), upper(triangles), words.modulus)
    assert isinstance(words, Floats)
    wide = _wide(words)
    low, high = (part(triangles).astype(wide.dtype) for part in (lower, upper))
    bound = factors_error(triangles, words) + product_error(low, high, wide)
    return _within("A beside L U by NumPy", low @ high, a.astype(wide.dtype), bound)


def _residuals(a: Array, triangles: Array, x: Array, b: Array, words: Words) -> Agreement:
    """b beside A x."""
    n = len(a)
    if isinstance(words, Residues):
        return modulo(b.reshape(n, -1), a, x.reshape(n, -1), words.modulus)
    assert isinstance(words, Floats)
    wide = _wide(words)
    columns, left = x.astype(wide.dtype).reshape(n, -1), a.astype(wide.dtype)
    bound = residual_error(triangles, columns, words) + product_error(left, columns, wide)
    right = b.astype(wide.dtype).reshape(n, -1)
    return _within("b beside A x by NumPy", left @ columns, right, bound)


def _wide(words: Floats) -> Floats:
    return COMPLEX if words.dtype.kind == "c" else FP64


def _within(source: str, found: Array, expected: Array, bound: Array) -> Agreement:
    """Compares with a bound; complex numbers by their real and imaginary parts."""
    if found.dtype.kind != "c":
        return within(source, found, expected, bound)
    got, wanted = (np.stack((x.real, x.imag)) for x in (found, expected))
    return within(source, got, wanted, np.stack((bound, bound)))
