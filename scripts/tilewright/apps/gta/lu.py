"""LU decomposition in blocks, with rows exchanged: panels on the host, all else on GTA.

P A = L U. Of each block of columns the host decomposes the panel; then two p-GEMMs follow: rows of
U are the inverse of the block's lower triangle times what is right of it, and from what is left
L U is subtracted. (Golub and Van Loan, Matrix Computations, section 3.4.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FORMATS
from ...sim.numbers.values import encode
from ..common.agreement import Agreement, exactly
from ..common.matrix_files import write_array
from ..common.units.gta import GtaChoice
from .operands import numbers_in, read_operand, result_format
from .product_report import gta_report
from .products import GtaProducts, check_products

__all__ = ["MOST_ROWS", "decompose_file"]

# The host's part of an LU decomposition: panels of a few columns, and inverses of triangles.
#
# An arithmetic is that of integers modulo 2^32, as uint32, or that of fp64.


class NoPivot(ValueError):
    """A column has no element to divide by. ``args``: its number in the panel."""


class Arithmetic(ABC):
    """Arithmetic of column elimination."""

    @abstractmethod
    def pivot(self, column: Matrix) -> int:
        """The place of the element to divide by. Raises NoPivot if there is none."""

    @abstractmethod
    def divided(self, column: Matrix, pivot: Any) -> Matrix:
        """A column over a pivot."""

    def eliminate(self, panel: Matrix) -> NDArray[np.intp]:
        """Decompose a panel, (rows, columns), in its place: below the diagonal L, whose diagonal is
        1, on it and above U. Rows are exchanged; returns the order that they are in.

        Raises NoPivot.
        """
        order = np.arange(len(panel))
        for column in range(panel.shape[1]):
            try:
                found = column + self.pivot(panel[column:, column])
            except NoPivot:
                raise NoPivot(column) from None
            panel[[column, found]] = panel[[found, column]]
            order[[column, found]] = order[[found, column]]
            rest = panel[column + 1 :]
            rest[:, column] = self.divided(rest[:, column], panel[column, column])
            rest[:, column + 1 :] -= rest[:, column, np.newaxis] * panel[column, column + 1 :]
        return order


class Modular(Arithmetic):
    """Integers modulo 2^32: only odd ones can be divided by."""

    def pivot(self, column: Matrix) -> int:
        """The first odd element."""
        odd = np.flatnonzero(column & np.uint32(1))
        if not len(odd):
            raise NoPivot
        return int(odd[0])

    def divided(self, column: Matrix, pivot: Any) -> Matrix:
        return column * np.uint32(pow(int(pivot), -1, 1 << 32))


class Doubles(Arithmetic):
    """fp64: the largest element is divided by, so that none of L is larger than 1."""

    def pivot(self, column: Matrix) -> int:
        """The first of the largest."""
        found = int(np.argmax(np.abs(column)))
        if not column[found]:
            raise NoPivot
        return found

    def divided(self, column: Matrix, pivot: Any) -> Matrix:
        return column / pivot


def inverse_of_lower(triangle: Matrix) -> Matrix:
    """The inverse of what is below the diagonal of a square, whose diagonal is 1."""
    found = np.eye(len(triangle), dtype=triangle.dtype)
    for row in range(1, len(triangle)):
        found[row, :row] = -(triangle[row, :row] @ found[:row, :row])
    return found


Matrix = NDArray[Any]

MOST_ROWS = 2048
"""Most rows of a matrix: the check takes as many multiplications as there are triples of rows."""

_THRESHOLD = 30.0
"""Limit of the residual over N eps |A|, in the 1-norm, as in LAPACK's own tests."""


@dataclass(frozen=True, kw_only=True)
class _Factors:
    """``packed``: L below the diagonal, U above; ``order``: rows of A, of which they are."""

    packed: Matrix
    order: NDArray[np.intp]


def decompose_file(choice: GtaChoice, path: Path, block: int, output: Path | None) -> None:
    """Decompose a matrix, write L and U in one square if that is asked for, and report.

    Raises UserError for a matrix that is not square, or has no pivot in a column.
    """
    finite = "must be finite to be decomposed" if choice.format == "fp64" else ""
    given = read_operand(path, choice.format, finite=finite)
    rows, cols = given.words.shape
    if rows != cols:
        raise UserError(f"{path}: must be square, not {rows} x {cols}")
    if rows > MOST_ROWS:
        raise UserError(f"{path}: {rows} rows are too many; at most {MOST_ROWS} are "
                        "allowed; run eliminate takes more, without exchanging rows")  # fmt: skip
    check_products(path, choice, rows**3 // 3)
    modular = choice.format == "int32"
    arithmetic: Arithmetic = Modular() if modular else Doubles()
    start = given.words.astype(np.uint32) if modular else given.values.astype(np.float64)
    with GtaProducts(choice) as products, np.errstate(all="ignore"):
        try:
            factors = _decompose(choice.format, start, block, arithmetic, products)
        except NoPivot as error:
            needs = ("no odd pivot: modulo 2^32 only odd numbers can be divided by" if modular
                     else "no pivot other than 0: the matrix is singular")  # fmt: skip
            raise UserError(f"{path}: column {error.args[0] + 1} has {needs}") from None
    agreement, residual = _recomposed(modular, start, factors)
    lines = [
        ("matrix", f"{rows:,} x {rows:,}, in blocks of {min(block, rows)}"),
        ("on the host", "panels and inverses of triangles"),
    ]
    if residual is not None:
        lines.append(("residual", f"{residual:.3g} x N eps |A|, in the 1-norm"))
    if output:
        packed = factors.packed
        write_array(output, packed.view(np.int32) if modular else packed)
        lines.append(("L and U", str(output)))
    details = {
        "rows": rows,
        "block": block,
        "order": [int(row) + 1 for row in factors.order],
        "residual": residual,
    }
    title = f"LU of {path.name}"
    gta_report("lu", title, lines, choice, products.tally, [agreement], details).finish()


def _decompose(
    format: str, start: Matrix, block: int, arithmetic: Arithmetic, products: GtaProducts
) -> _Factors:
    matrix, size = start.copy(), len(start)
    order = np.arange(size)

    def multiply(a: Matrix, b: Matrix, c: Matrix | None = None) -> Matrix:
        addend = None if c is None else _words(c, result_format(format))
        words = products.multiply(_words(a, format), _words(b, format), addend)
        found = numbers_in(words, result_format(format))
        return found.astype(start.dtype)

    for first in range(0, size, block):
        last = min(first + block, size)
        try:
            found = arithmetic.eliminate(matrix[first:, first:last])
        except NoPivot as error:
            raise NoPivot(first + error.args[0]) from None
        for beside in (matrix[first:, :first], matrix[first:, last:]):
            beside[:] = beside[found]
        order[first:] = order[first:][found]
        if last == size:
            break
        inverse = inverse_of_lower(matrix[first:last, first:last])
        matrix[first:last, last:] = multiply(inverse, matrix[first:last, last:])
        lower = np.negative(matrix[last:, first:last])
        matrix[last:, last:] = multiply(lower, matrix[first:last, last:], matrix[last:, last:])
    return _Factors(packed=matrix, order=order)


def _words(values: Matrix, format: str) -> NDArray[np.uint64]:
    """Patterns; of uint32 as of the integers that they are modulo 2^32."""
    signed = values.view(np.int32) if values.dtype == np.uint32 else values
    return encode(signed, FORMATS[format])


@np.errstate(all="ignore")
def _recomposed(modular: bool, start: Matrix, factors: _Factors) -> tuple[Agreement, float | None]:
    """L U beside P A; of fp64 the residual over N eps |A|."""
    lower = np.tril(factors.packed, -1) + np.eye(len(start), dtype=start.dtype)
    upper, wanted = np.triu(factors.packed), start[factors.order]
    again = lower @ upper
    error = np.abs(again - wanted)
    if modular:
        return exactly("L U beside P A, NumPy modulo 2^32", again, wanted), None
    limits = np.finfo(np.float64)
    scale = len(start) * limits.eps * float(np.abs(start).sum(axis=0).max())
    found = float(error.sum(axis=0).max()) / scale
    # Beyond float64 on the way: no residual is as large.
    residual = found if np.isfinite(found) else float(limits.max)
    wrong = 0 if residual < _THRESHOLD else start.size
    agreement = Agreement(
        source=f"L U beside P A, NumPy, residual below {_THRESHOLD:g} N eps |A|",
        criterion="rounding",
        values=start.size,
        wrong=wrong,
        largest=float(np.nan_to_num(error.max(), nan=limits.max)),
        worst=residual / _THRESHOLD,
    )
    return agreement, residual
