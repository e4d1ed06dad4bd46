"""The product of two matrices on a tensor unit, against NumPy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...sim.tcu import TensorUnit
from ...sim.tcu.dense.bilinear import STANDARD, STRASSEN, Bilinear
from ...sim.tcu.dense.rounding import in_squares_error, in_squares_underflow, product_error
from ...sim.tcu.dense.tall import in_squares, rectangular, tall
from ...sim.tcu.formulas.dense import squares, transposes
from ...sim.tcu.tensor_unit import multiple
from ...sim.tcu.words import COMPLEX, FP64, Array
from ...sim.tcu.words.floats import Floats
from ...sim.tcu.words.modular import Residues
from ..common.agreement import Agreement, exactly, within
from ..common.limits import check_operations, check_size, counted
from ..common.matrix_files import read_matrix, write_array
from .algorithm_report import tcu_report
from .algorithms import ALGORITHMS
from .options import TcuChoice, check_factors, check_squares
from .unit import (
    as_words,
    computing,
    open_unit,
    padded_to,
    smaller_than_a_block,
    words_for,
    work_of,
)

_COLUMNS = 16
_LIMB = 15
"""Bits, so that sums of 2^33 products fit a word of 64 bits."""


def modulo(product: Array, a: Array, b: Array, modulus: int) -> Agreement:
    """Compares a product with ``a b`` modulo a number, in up to ``_COLUMNS`` columns."""
    columns = product.shape[1]
    places = np.unique(np.linspace(0, columns - 1, _COLUMNS).astype(int))
    expected = a.astype(object) @ b[:, places].astype(object) % modulus
    some = f", {len(places)} columns" if len(places) < columns else ""
    return exactly(f"Python's integers{some}", product[:, places], expected)


def sparse_modulo(a: Any, b: Any, words: Residues) -> Any:
    """``a b`` of SciPy's CSR matrices of residues, by SciPy's products of limbs."""
    total = 0 * (a != 0).astype(np.int64) @ (b != 0).astype(np.int64)
    count = -(-(words.modulus - 1).bit_length() // _LIMB)
    for i in range(count):
        for j in range(count):
            made = (_limb(a, i) @ _limb(b, j)).tocsr()
            weight = np.array(pow(2, _LIMB * (i + j), words.modulus))
            made.data = words.multiply(made.data % words.modulus, weight)
            total = total + made
            total.data %= words.modulus
    return total


def _limb(matrix: Any, number: int) -> Any:
    data = matrix.data >> (_LIMB * number) & ((1 << _LIMB) - 1)
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


_SCHEMES: dict[str, Bilinear] = {"standard": STANDARD, "strassen": STRASSEN}


def multiply_matrices(
    choice: TcuChoice,
    method: str,
    words: str | None,
    modulus: int | None,
    a: Path,
    b: Path,
    output: Path | None,
) -> None:
    """Multiply the matrices of two files, write the product if that is asked for, and report."""
    given = [(path, read_matrix(path)) for path in (a, b)]
    check = check_squares if method == "tall" else check_factors
    check([(path, matrix.shape) for path, matrix in given])
    kind = words_for(words, modulus, *(matrix for _, matrix in given))
    left, right = (as_words(path, matrix, kind) for path, matrix in given)
    (n, k), p = left.shape, right.shape[1]
    cut = squares(n, k, p, choice.side) if method in _SCHEMES else None
    sizes = {"n": n, "k": k, "p": p} if method == "rectangular" else {"n": cut.side if cut else n}
    work, about = work_of(method, choice, **sizes), f"the product of {a} and {b}"
    padded_side = cut.side if cut else choice.side
    for shape in ((n, k), (k, p), (n, p)):
        check_size(f"{about}, in blocks", *(multiple(side, padded_side) for side in shape))
    check_operations(about, work.calls * (cut.products if cut else 1), "choose a larger --m")
    unit = open_unit(choice, kind)
    with computing(unit, about):
        found = _product(unit, method, left, right)
        agreement = _agreement(unit, method, found, left, right)
    rows = [
        ("method", f"{method}: {ALGORITHMS[method].problem}"),
        ("matrices", _matrices(unit, method, n, k, p)),
        *smaller_than_a_block(unit.s, n, k, p),
    ]
    if output:
        write_array(output, found)
        rows.append(("written", str(output)))
    details = {"method": method, "shape": [n, k, p], "modulus": modulus}
    tcu_report(
        "strassen", f"{a.name} x {b.name}", rows, choice, unit, [agreement], details
    ).finish()


def _matrices(unit: TensorUnit, method: str, n: int, k: int, p: int) -> str:
    """Describes the shapes, their padding, and whether operands are transposed."""
    s = unit.s
    if method in _SCHEMES:
        cut = squares(n, k, p, s)
        high, wide, width = (cut.side * count for count in cut[1:])
        if n == k == p:
            return f"{n:,} x {n:,}{padded_to((n, n), (wide, wide))}"
        return (f"{n:,} x {k:,}{padded_to((n, k), (high, wide))}; "
                f"{k:,} x {p:,}{padded_to((k, p), (wide, width))}; "
                f"{counted(cut.products, 'product')} of {cut.side:,} x {cut.side:,}")  # fmt: skip
    turned = transposes(n, k, p, s, unit.weak)
    rows, columns = (p, n) if turned else (n, p)
    high = multiple(rows, s) if unit.weak else max(rows, s)
    wide, width = multiple(k, s), multiple(columns, s)
    if n == k == p:
        return f"{n:,} x {n:,}{padded_to((n, n), (high, wide), (wide, width))}"
    left = f"{n:,} x {k:,}{padded_to((n, k), (width, wide) if turned else (high, wide))}"
    right = f"{k:,} x {p:,}{padded_to((k, p), (wide, high) if turned else (wide, width))}"
    return f"{left}; {right}{'; transposed, as that takes fewer calls' if turned else ''}"


def _product(unit: TensorUnit, method: str, a: Array, b: Array) -> Array:
    if method in _SCHEMES:
        return in_squares(unit, _SCHEMES[method], a, b)
    return (tall if method == "tall" else rectangular)(unit, a, b)


def _agreement(unit: TensorUnit, method: str, found: Array, a: Array, b: Array) -> Agreement:
    """Compares with NumPy: integers modulo 2^64, which is exact as no word has overflowed."""
    words = unit.words
    if isinstance(words, Residues):
        return modulo(found, a, b, words.modulus)
    if not isinstance(words, Floats):
        return exactly("NumPy", found, a @ b)
    wide = COMPLEX if words.dtype.kind == "c" else FP64
    x, y = a.astype(wide.dtype), b.astype(wide.dtype)
    bound = product_error(x, y, wide)
    if method not in _SCHEMES:
        bound = bound + product_error(a, b, words)
    else:
        largest = float(np.abs(x).max()) * float(np.abs(y).max())
        scheme, cut = _SCHEMES[method], squares(len(a), len(b), b.shape[1], unit.s)
        bound = bound + in_squares_error(scheme, cut, unit.s, words) * largest
        bound = bound + in_squares_underflow(scheme, cut, unit.s, words)
    return within(
        f"NumPy, {wide.name}", _reals(found, wide), _reals(x @ y, wide), _twice(bound, wide)
    )


def _reals(numbers: Array, words: Floats) -> Any:
    """Complex numbers as twice as many real ones, each as near as the number is."""
    return np.ascontiguousarray(numbers.astype(words.dtype)).view(np.float64)


def _twice(bound: Array, words: Floats) -> Array:
    return np.repeat(bound, 2, axis=1) if words.dtype.kind == "c" else bound
