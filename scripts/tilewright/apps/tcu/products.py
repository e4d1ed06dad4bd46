"""The product of two square matrices on a tensor unit, against NumPy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import user_errors
from ...sim.tcu import TensorUnit
from ...sim.tcu.blocks import multiple
from ...sim.tcu.dense.bilinear import Bilinear
from ...sim.tcu.dense.recursive import recursive
from ...sim.tcu.dense.rounding import product_error, recursive_error
from ...sim.tcu.dense.schemes import STANDARD, STRASSEN
from ...sim.tcu.dense.tall import tall
from ...sim.tcu.formulas.dense import levels
from ...sim.tcu.words import COMPLEX, FP64, Array
from ...sim.tcu.words.floats import Floats
from ..common.limits import check_operations
from ..common.matrix_files import read_matrix, write_array
from ..gta.agreement import Agreement, exactly, within
from .algorithms import ALGORITHMS
from .counts import work_of
from .numbers_read import as_words
from .options import TcuChoice
from .report import finish_tcu
from .squares import check_squares
from .unit import open_unit, words_named

__all__ = ["multiply_squares"]

_SCHEMES: dict[str, Bilinear] = {"standard": STANDARD, "strassen": STRASSEN}


def multiply_squares(
    choice: TcuChoice, method: str, words: str | None, a: Path, b: Path, output: Path | None
) -> None:
    """Multiply the matrices of two files, write the product if that is asked for, and report."""
    given = [(path, read_matrix(path)) for path in (a, b)]
    check_squares([(path, matrix.shape) for path, matrix in given])
    n = given[0][1].shape[0]
    complex_ = any(np.iscomplexobj(matrix) for _, matrix in given)
    kind = words_named(words or ("complex" if complex_ else "fp64"))
    left, right = (as_words(path, matrix, kind) for path, matrix in given)
    work = work_of(method, choice, n=n)
    check_operations(f"the product of {a} and {b}", work.calls, "choose a larger --m")
    unit = open_unit(choice, kind)
    with user_errors(ValueError, about=f"the product of {a} and {b}"):
        found = _product(unit, method, left, right)
    agreement = _agreement(unit, method, found, left, right)
    rows = [
        ("method", f"{method}: {ALGORITHMS[method].problem}"),
        ("matrices", f"{n:,} x {n:,}{_padding(unit, method, n)}"),
    ]
    if output:
        write_array(output, found)
        rows.append(("written", str(output)))
    details = {"method": method, "shape": [n, n, n]}
    finish_tcu("strassen", f"{a.name} x {b.name}", rows, choice, unit, [agreement], details)


def _padding(unit: TensorUnit, method: str, n: int) -> str:
    """What is said of sides that are padded."""
    s = unit.s
    wide = multiple(n, s) if method == "tall" else s * _SCHEMES[method].side ** levels(n, s)
    high = max(n, s) if method == "tall" and not unit.weak else wide
    sides = dict.fromkeys([f"{high:,} x {wide:,}", f"{wide:,} x {wide:,}"])
    return f", padded to {' and '.join(sides)}" if (high, wide) != (n, n) else ""


def _product(unit: TensorUnit, method: str, a: Array, b: Array) -> Array:
    return tall(unit, a, b) if method == "tall" else recursive(unit, _SCHEMES[method], a, b)


def _agreement(unit: TensorUnit, method: str, found: Array, a: Array, b: Array) -> Agreement:
    """Beside NumPy: integers modulo 2^64, which is exact as no word has overflowed."""
    words = unit.words
    if not isinstance(words, Floats):
        return exactly("NumPy", found, a @ b)
    wide = COMPLEX if words.dtype.kind == "c" else FP64
    x, y = a.astype(wide.dtype), b.astype(wide.dtype)
    bound = product_error(x, y, wide)
    if method == "tall":
        bound = bound + product_error(a, b, words)
    else:
        largest = float(np.abs(x).max()) * float(np.abs(y).max())
        bound = bound + recursive_error(_SCHEMES[method], len(a), unit.s, words) * largest
    return within(
        f"NumPy, {wide.name}", _reals(found, wide), _reals(x @ y, wide), _twice(bound, wide)
    )


def _reals(numbers: Array, words: Floats) -> Any:
    """Complex numbers as twice as many real ones, each as near as the number is."""
    return np.ascontiguousarray(numbers.astype(words.dtype)).view(np.float64)


def _twice(bound: Array, words: Floats) -> Array:
    return np.repeat(bound, 2, axis=1) if words.dtype.kind == "c" else bound
