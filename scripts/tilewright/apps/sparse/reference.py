"""Sparse products by SciPy and NumPy, in float64, and how far a result may be from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import FloatFormat, Format
from ...hw.spec.semirings import Semiring
from ...sim.numbers.values import decode, encode

__all__ = ["SparseAgreement", "compare_sparse"]

Floats = NDArray[np.float64]
_CHUNK = 1 << 23


@dataclass(frozen=True, kw_only=True)
class SparseAgreement:
    """How a result compares with the reference.

    Parameters
    ----------
    source: where the reference comes from
    structure: whether both have the same entries
    wrong: entries whose values differ by more than rounding explains
    largest: largest absolute error
    share: largest error as a share of what rounding explains; 0 if values must be equal
    """

    source: str
    structure: bool
    wrong: int
    largest: float
    share: float


def compare_sparse(semiring: Semiring, fmt: Format, a: Any, b: Any, result: Any) -> SparseAgreement:
    """Compare a product with that of SciPy (sums of products) or NumPy (all other semirings).

    Parameters
    ----------
    semiring, fmt: of the accelerator
    a, b: operands as the accelerator has them, SciPy CSR
    result: what it made of them
    """
    result = result.tocsr()
    result.sort_indices()
    pattern = _ones(a) @ _ones(b)
    pattern.sort_indices()
    structure = bool(
        np.array_equal(pattern.indptr, result.indptr)
        and np.array_equal(pattern.indices, result.indices)
    )
    source = "SciPy" if semiring.name == "mma" else "SciPy's structure, NumPy's values"
    if not structure:
        wrong = max(1, abs(pattern.nnz - result.nnz))
        return SparseAgreement(source=source, structure=False, wrong=wrong, largest=np.inf,
                               share=np.inf)  # fmt: skip
    if semiring.name == "mma":
        expected, scale = _sums(fmt, a, b, pattern)
    else:
        expected, scale = _folded(semiring, fmt, a, b)
    found = np.asarray(result.data)
    return _judge(fmt, found, expected, scale, pattern.data, source)


def _ones(matrix: Any) -> Any:
    from scipy.sparse import csr_array

    ones = np.ones(matrix.nnz, np.int64)
    return csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def _sums(fmt: Format, a: Any, b: Any, pattern: Any) -> tuple[Any, Floats | None]:
    """SciPy's product and the sum of the products' magnitudes, entry by entry."""
    if not isinstance(fmt, FloatFormat):
        return _aligned(a.astype(np.int64) @ b.astype(np.int64), pattern), None
    wide = [matrix.astype(np.float64) for matrix in (a, b)]
    with np.errstate(all="ignore"):
        product = _aligned(wide[0] @ wide[1], pattern)
        magnitude = _aligned(abs(wide[0]) @ abs(wide[1]), pattern)
    return product, magnitude


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


def _folded(semiring: Semiring, fmt: Format, a: Any, b: Any) -> tuple[Any, Floats | None]:
    """All products, joined place by place."""
    times = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    plus = {"min": np.minimum, "max": np.maximum, "add": np.add, "or": np.maximum}[semiring.plus]
    whole = not isinstance(fmt, FloatFormat)
    number = np.int64 if whole else np.float64
    x, y = a.data.astype(number), b.data.astype(number)
    per_entry = np.diff(b.indptr).astype(np.int64)[a.indices]
    per_row = np.add.reduceat(np.append(per_entry, 0), np.minimum(a.indptr[:-1], len(per_entry)))
    per_row[np.diff(a.indptr) == 0] = 0
    parts = []
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
        with np.errstate(all="ignore"):
            if semiring.times == "and":
                terms = ((x[which_a] != 0) & (y[which_b] != 0)).astype(number)
            elif semiring.times == "square_difference":
                terms = (x[which_a] - y[which_b]) ** 2
            else:
                terms = times[semiring.times](x[which_a], y[which_b])
                terms = _wrapped(terms) if whole and semiring.times == "mul" else terms
        keys = (rows - row) * b.shape[1] + b.indices[which_b]
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        if len(first):
            parts.append(plus.reduceat(terms[order], first))
        row = last
    found = np.concatenate(parts) if parts else np.zeros(0, number)
    if semiring.times == "square_difference" and not whole:
        return found, np.asarray(found, np.float64)
    if semiring.times == "add" and whole:
        found = np.clip(found, -(2**31), 2**31 - 1)
    if not whole:
        with np.errstate(all="ignore"):
            found = np.asarray(decode(encode(found, fmt), fmt), np.float64)
    return found, None


def _judge(
    fmt: Format, found: Any, expected: Any, scale: Floats | None, terms: Any, source: str
) -> SparseAgreement:
    if not isinstance(fmt, FloatFormat):
        wrong = int(np.count_nonzero(found.astype(np.int64) != _wrapped(expected)))
        return SparseAgreement(source=source, structure=True, wrong=wrong,
                               largest=float(wrong > 0), share=0.0)  # fmt: skip
    value = found.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(value - expected)
    same = (value == expected) | (np.isnan(value) & np.isnan(expected))
    error[same] = 0.0
    largest = float(np.max(np.where(np.isfinite(error), error, 0.0), initial=0.0))
    if scale is None:
        return SparseAgreement(source=source, structure=True, wrong=int(np.count_nonzero(~same)),
                               largest=largest, share=0.0)  # fmt: skip
    # Every product and every sum is rounded once; a square of a rounded difference three times.
    unit = 2.0**-fmt.significand_bits
    least = 2.0 ** (fmt.emin - fmt.fraction_bits)
    allowed = (terms + 3.0) * (unit * scale * (1 + unit) ** 2 + least)
    # What overflows on the way may be infinite, or NaN, where the sum itself is not.
    beyond = ~(scale < 2.0**fmt.emax)
    share = np.where(same | beyond, 0.0, error / allowed)
    share[np.isnan(share)] = np.inf
    wrong = int(np.count_nonzero(~(share <= 1.0)))
    return SparseAgreement(source=source, structure=True, wrong=wrong, largest=largest,
                           share=float(share.max(initial=0.0)))  # fmt: skip


def _wrapped(values: Any) -> Any:
    """Integers modulo 2 ** 32, as int32 holds them."""
    return values.astype(np.int64).astype(np.uint32).astype(np.int32).astype(np.int64)
