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
from ..common.files import need
from ..common.limits import check_size
from ..common.matrix_files import write_array
from ..common.units.gta import GtaChoice
from .operands import compare_product, numbers_in, operand_of, read_operand, result_format
from .product_report import gta_report
from .products import GtaProducts, check_products

Floats = NDArray[np.float64]

_SHOWN = 4
_FORMAT = "fp64"


@dataclass(frozen=True, kw_only=True)
class _Components:
    """``variances``: of all features' components, the largest first; ``vectors``: one a row."""

    variances: Floats
    vectors: Floats


def find_components(
    choice: GtaChoice, path: Path | None, count: int | None, output: Path | None
) -> None:
    """Find the first ``count`` components of data, a sample a row, write them, (components,
    features), if that is asked for, and report. Raises UserError for data that have none."""
    title, data = _read(path)
    samples, features = data.shape
    if samples < 2:
        raise UserError(f"{title}: must have at least 2 samples, a row each, not {samples}")
    most = min(samples, features)
    if count is not None and not 1 <= count <= most:
        raise UserError(f"--components must be in 1..{most}, not {count}")
    check_size(f"the covariance of {title}", features, features)
    check_products(title, choice, samples * features * features)
    with np.errstate(all="ignore"):
        centred = operand_of(title, data - data.mean(axis=0), _FORMAT).words
    with GtaProducts(choice) as products:
        words = products.multiply(np.ascontiguousarray(centred.T), centred)
    values = numbers_in(centred, _FORMAT)
    product = compare_product(_FORMAT, words, np.ascontiguousarray(values.T), values)
    covariance = numbers_in(words, _FORMAT) / (samples - 1)
    if not np.isfinite(covariance).all():
        raise UserError(f"{title}: the covariance is beyond {_FORMAT}")
    found = _decomposed(covariance)
    kept = count if count is not None else most
    agreement = _compare(data, found, kept)
    total = float(found.variances.sum())
    shares = found.variances[:kept] / total if total else found.variances[:kept] * 0
    shown = ", ".join(f"{share:.2%}" for share in shares[:_SHOWN])
    more = f" and {kept - _SHOWN:,} more" if kept > _SHOWN else ""
    lines = [
        ("data", f"{samples:,} samples, {features:,} features"),
        ("components", f"{kept:,}, {shares.sum():.2%} of the variance: {shown}{more}"),
        ("on the host", "means and eigenvectors"),
    ]
    if output:
        write_array(output, found.vectors[:kept])
        lines.append(("components", str(output)))
    details = {
        "data": title,
        "shape": [samples, features],
        "components": kept,
        "variances": found.variances[:kept].tolist(),
        "shares": shares.tolist(),
    }
    gta_report(
        "pca",
        f"components of {title}",
        lines,
        choice,
        products.tally,
        [product, agreement],
        details,
    ).finish()


def _read(path: Path | None) -> tuple[str, Floats]:
    if path is None:
        loader = need("sklearn.datasets", "scikit-learn")
        return "scikit-learn's digits", np.asarray(loader.load_digits().data, np.float64)
    return str(path), read_operand(path, _FORMAT, finite="samples must be finite").values


def _decomposed(covariance: Floats) -> _Components:
    variances, vectors = np.linalg.eigh(covariance)
    return _Components(variances=variances[::-1], vectors=vectors.T[::-1])


def _compare(data: Floats, found: _Components, kept: int) -> Agreement:
    """Variances and components beside scikit-learn's, up to their signs.

    Roundings of the sums and of both decompositions move the covariance, in the 2-norm, by less
    than as many units of its trace as a sum has terms; that moves variances by as much (Weyl), and
    a component by that over the distance to the next variance (Davis and Kahan), among those of
    all features: of data with fewer samples than features the last ones are all 0.
    """
    solver: Any = need("sklearn.decomposition", "scikit-learn").PCA(svd_solver="full")
    with np.errstate(all="ignore"):
        reference = solver.fit(data)
    eps = float(np.finfo(np.float64).eps)
    moved = 4 * eps * sum(data.shape) * float(np.maximum(found.variances, 0).sum())
    error = np.abs(found.variances[:kept] - reference.explained_variance_[:kept])
    wide = np.concatenate([[np.inf], found.variances, [-np.inf]])
    gaps = np.minimum(wide[:-2] - wide[1:-1], wide[1:-1] - wide[2:])[:kept]
    ours, theirs = found.vectors[:kept], reference.components_[:kept]
    signs = np.sign((ours * theirs).sum(axis=1))[:, np.newaxis]
    turned = np.linalg.norm(ours * signs - theirs, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        allowed = np.nan_to_num(2 * moved / gaps, nan=np.inf, posinf=np.inf) + 8 * eps
        shares = np.concatenate([error / moved if moved else error, turned / allowed])
    return Agreement(
        source="scikit-learn's PCA",
        criterion="rounding",
        values=2 * kept,
        wrong=int(np.count_nonzero(shares > 1)),
        largest=float(error.max()),
        worst=float(shares.max()),
        named="variances and components",
    )


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
