"""Sparse products by SciPy and NumPy, in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import Format, IntFormat
from ...hw.spec.semirings import Semiring
from ...sim.numbers.values import decode, encode

__all__ = ["Expected", "expected_product", "wrapped"]

Floats = NDArray[np.float64]
_CHUNK = 1 << 23


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a product should be, entry by entry of SciPy's structure.

    Parameters
    ----------
    source: where it comes from
    pattern: the structure, SciPy CSR; its values count the products of each entry
    values: what the accelerator should find: integers before they wrap around, floats within
        rounding where ``scale`` is there, else exactly
    exact: the same in float64, whatever the accelerator's format
    scale: the sum of the magnitudes that are added; None if nothing is rounded but once
    """

    source: str
    pattern: Any
    values: Any
    exact: Floats
    scale: Floats | None


def expected_product(semiring: Semiring, fmt: Format, a: Any, b: Any) -> Expected:
    """The product of two matrices as the accelerator has them, SciPy CSR: by SciPy (sums of
    products) or NumPy (all other semirings)."""
    pattern = _ones(a) @ _ones(b)
    pattern.sort_indices()
    if semiring.name == "mma":
        source, parts = "SciPy", _sums(fmt, a, b, pattern)
    else:
        source, parts = "SciPy's structure, NumPy's values", _folded(semiring, fmt, a, b)
    values, exact, scale = parts
    return Expected(source=source, pattern=pattern, values=values, exact=exact, scale=scale)


def _ones(matrix: Any) -> Any:
    from scipy.sparse import csr_array

    ones = np.ones(matrix.nnz, np.int64)
    return csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def _sums(fmt: Format, a: Any, b: Any, pattern: Any) -> tuple[Any, Any, Any]:
    """SciPy's product, the same in float64, and the sum of the products' magnitudes."""
    wide = [matrix.astype(np.float64) for matrix in (a, b)]
    with np.errstate(all="ignore"):
        product = _aligned(wide[0] @ wide[1], pattern)
        if isinstance(fmt, IntFormat):
            whole = _aligned(a.astype(np.int64) @ b.astype(np.int64), pattern)
            return whole, product, None
        magnitude = _aligned(abs(wide[0]) @ abs(wide[1]), pattern)
    return product, product, magnitude


def _aligned(product: Any, pattern: Any) -> Any:
    """Values at the places of the pattern. SciPy leaves out sums that are zero; they are 0 here."""
    product.sort_indices()
    found = np.zeros(pattern.nnz, product.dtype)
    places = np.searchsorted(_places(pattern), _places(product))
    found[places] = product.data
    return found


def _places(matrix: Any) -> NDArray[np.int64]:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found: NDArray[np.int64] = rows * np.int64(matrix.shape[1]) + matrix.indices
    return found


def _folded(semiring: Semiring, fmt: Format, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """All products, joined place by place: as `_sums`."""
    plus = {"min": np.minimum, "max": np.maximum, "add": np.add, "or": np.maximum}[semiring.plus]
    whole = isinstance(fmt, IntFormat)
    number = np.int64 if whole else np.float64
    x, y = a.data.astype(number), b.data.astype(number)
    per_entry = np.diff(b.indptr).astype(np.int64)[a.indices]
    per_row = np.add.reduceat(np.append(per_entry, 0), np.minimum(a.indptr[:-1], len(per_entry)))
    per_row[np.diff(a.indptr) == 0] = 0
    parts, exact_parts = [np.zeros(0, number)], [np.zeros(0)]
    done = np.concatenate([[0], np.cumsum(per_row)])
    row = 0
    while row < a.shape[0]:
        last = max(row + 1, int(np.searchsorted(done, done[row] + _CHUNK, side="right")) - 1)
        entries = np.arange(a.indptr[row], a.indptr[last])
        counts = per_entry[entries]
        which_a = np.repeat(entries, counts)
        offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        which_b = b.indptr[a.indices[which_a]] + offsets
        rows = np.repeat(np.repeat(np.arange(row, last), np.diff(a.indptr)[row:last]), counts)
        keys = (rows - row) * b.shape[1] + b.indices[which_b]
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        left, right = x[which_a[order]], y[which_b[order]]
        if len(first):
            with np.errstate(all="ignore"):
                terms = _terms(semiring, left, right)
                if whole:
                    exact = _terms(semiring, left.astype(np.float64), right.astype(np.float64))
                    exact_parts.append(plus.reduceat(exact, first))
                    terms = wrapped(terms) if semiring.times == "mul" else terms
                parts.append(plus.reduceat(terms, first))
        row = last
    found = np.concatenate(parts)
    if isinstance(fmt, IntFormat):
        if semiring.times == "add":
            found = np.clip(found, fmt.lowest, fmt.highest)
        return found, np.concatenate(exact_parts), None
    if semiring.times == "square_difference":
        return found, found, found
    with np.errstate(all="ignore"):
        once = np.asarray(decode(encode(found, fmt), fmt), np.float64)
    return once, found, None


def _terms(semiring: Semiring, x: Any, y: Any) -> Any:
    """x (x) y, in the numbers that they are."""
    if semiring.times == "and":
        return ((x != 0) & (y != 0)).astype(x.dtype)
    if semiring.times == "square_difference":
        return (x - y) ** 2
    times = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    return times[semiring.times](x, y)


def wrapped(values: Any) -> Any:
    """Integers modulo 2 ** 32, as int32 holds them."""
    return values.astype(np.int64).astype(np.uint32).astype(np.int32).astype(np.int64)
