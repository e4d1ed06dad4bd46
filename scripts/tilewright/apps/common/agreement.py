"""A result beside a reference that we did not write, and what rounding explains between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import Format, IntFormat
from ...hw.spec.host.activity import activity
from ...hw.spec.semirings import Semiring
from ...sim.numbers.values import decode, encode
from .limits import counted
from .rounding import largest, round_to, say

Floats = NDArray[np.float64]
_CHUNK = 1 << 23


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Expected product, entry by entry of SciPy's structure.

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
    """Joins all products place by place; returns as `_sums`."""
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


@dataclass(frozen=True, kw_only=True)
class SparseAgreement:
    """Comparison of a result with the reference.

    Parameters
    ----------
    source: where the reference comes from
    structure: whether both have the same entries
    entries: of the result
    wrong: entries whose values differ by more than rounding explains
    largest: largest absolute error
    share: largest error as a share of what rounding explains; 0 if values must be equal
    overflows: entries whose finite float64 values, or what they come from, the format does not
        reach: they are infinite or NaN, or integers at an end of the range or modulo its size
    vanished: entries that are zero since all that they add up is too small for the format
    special: other entries that are infinite or NaN
    """

    source: str
    structure: bool
    entries: int
    wrong: int
    largest: float
    share: float
    overflows: int = 0
    vanished: int = 0
    special: int = 0


@activity("comparing with the reference")
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
    expected = expected_product(semiring, fmt, a, b)
    pattern = expected.pattern
    structure = bool(
        np.array_equal(pattern.indptr, result.indptr)
        and np.array_equal(pattern.indices, result.indices)
    )
    if not structure:
        wrong = max(1, abs(pattern.nnz - result.nnz))
        return SparseAgreement(source=expected.source, structure=False, entries=result.nnz,
                               wrong=wrong, largest=np.inf, share=np.inf)  # fmt: skip
    found = np.asarray(result.data)
    wrong, largest_error, share = _errors(fmt, found, expected)
    overflows, vanished, special = _losses(semiring, fmt, found, expected)
    return SparseAgreement(
        source=expected.source,
        structure=True,
        entries=len(found),
        wrong=wrong,
        largest=largest_error,
        share=share,
        overflows=overflows,
        vanished=vanished,
        special=special,
    )


def _errors(fmt: Format, found: Any, expected: Expected) -> tuple[int, float, float]:
    """Wrong entries, the largest error, and its share of what rounding explains."""
    if isinstance(fmt, IntFormat):
        wrong = int(np.count_nonzero(found.astype(np.int64) != wrapped(expected.values)))
        return wrong, float(wrong > 0), 0.0
    value = found.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(value - expected.values)
    same = (value == expected.values) | (np.isnan(value) & np.isnan(expected.values))
    error[same] = 0.0
    highest = float(np.max(np.where(np.isfinite(error), error, 0.0), initial=0.0))
    if expected.scale is None:
        return int(np.count_nonzero(~same)), highest, 0.0
    # Every product and every sum is rounded once; a square of a rounded difference three times.
    unit = 2.0**-fmt.significand_bits
    least = 2.0 ** (fmt.emin - fmt.fraction_bits)
    allowed = (expected.pattern.data + 3.0) * (unit * expected.scale * (1 + unit) ** 2 + least)
    # Intermediate overflow may make a result infinite, or NaN, where the sum itself is finite.
    beyond = ~(expected.scale < 2.0**fmt.emax)
    share = np.where(same | beyond, 0.0, error / allowed)
    share[np.isnan(share)] = np.inf
    return int(np.count_nonzero(~(share <= 1.0))), highest, float(share.max(initial=0.0))


def _losses(
    semiring: Semiring, fmt: Format, found: Any, expected: Expected
) -> tuple[int, int, int]:
    """Entries that overflowed, that vanished, and others that are not finite."""
    exact = expected.exact
    if isinstance(fmt, IntFormat):
        left = (exact < fmt.lowest) | (exact > fmt.highest)
        if semiring.plus != "add":  # a product that wraps around may be chosen, or be no longer
            left |= exact != found
        return int(np.count_nonzero(left)), 0, 0
    special = ~np.isfinite(found)
    overflows = special & np.isfinite(exact)
    size = np.abs(exact) if expected.scale is None else expected.scale
    zero = np.flatnonzero((found == 0) & (exact != 0))
    vanished = np.count_nonzero(round_to(size[zero], fmt).values == 0)
    counts = (int(np.count_nonzero(x)) for x in (overflows, special & ~overflows))
    beyond, others = counts
    return beyond, int(vanished), others


def warn_result(what: str, agreement: SparseAgreement, semiring: Semiring, fmt: Format) -> None:
    """Say on stderr what the format destroyed of a result, and what is not finite in it."""
    of = f"of {agreement.entries:,} values"
    if isinstance(fmt, IntFormat) and agreement.overflows:
        how = "stay at its ends" if semiring.times == "add" else "wrap around"
        say(f"{what}: {agreement.overflows:,} {of} leave {fmt.lowest}..{fmt.highest}, the "
            f"range of {fmt.name}, and {how}")  # fmt: skip
    elif agreement.overflows:
        say(f"{what}: {agreement.overflows:,} {of} exceed the largest {fmt.name} value "
            f"{largest(fmt):.6g} and are infinite or NaN")  # fmt: skip
    if agreement.vanished:
        say(f"{what}: {agreement.vanished:,} {of} are too small for {fmt.name} and are zero")
    if agreement.special:
        say(f"{what}: {agreement.special:,} {of} are infinite or NaN")


def verdict(agreement: SparseAgreement) -> str:
    """A line about a comparison."""
    if not agreement.structure:
        return f"{agreement.source}: DIFFERENT structure"
    if agreement.wrong:
        return f"{agreement.source}: DIFFERENT: {agreement.wrong:,} values are wrong"
    lost = {"overflowed": agreement.overflows, "vanished": agreement.vanished,
            "infinite or NaN": agreement.special}  # fmt: skip
    rest = ", ".join(f"{count:,} {what}" for what, count in lost.items() if count)
    rest = f"; of {agreement.entries:,} values {rest}" if rest else ""
    if not agreement.share:
        same = "every other value equal" if rest else "every value equal"
        return f"{agreement.source}: same structure, {same}{rest}"
    return (
        f"{agreement.source}: same structure, largest error {agreement.largest:.2e}, at most "
        f"{agreement.share:.0%} of what rounding explains{rest}"
    )


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Comparison of a result with a reference.

    Parameters
    ----------
    source: where the reference comes from
    criterion: "exact", or "rounding": values differ by no more than rounding explains
    values: that were compared
    wrong: those beyond the criterion
    largest: largest absolute error
    worst: largest error as a share of what rounding explains; 0 if values must be equal
    left_out: values that are not finite in one of both, or come from such
    named: what is compared, in words
    """

    source: str
    criterion: str
    values: int
    wrong: int
    largest: float = 0.0
    worst: float = 0.0
    left_out: int = 0
    named: str = "values"

    def to_json(self) -> dict[str, Any]:
        """Returns the fields of the JSON report."""
        return dict(vars(self))

    @property
    def verdict(self) -> str:
        """Verdict for the printed report."""
        if self.criterion == "exact":
            equal = f"{self.wrong:,} DIFFERENT" if self.wrong else "all equal"
            values = counted(self.values, self.named.removesuffix("s"), self.named)
            return f"{self.source}: {values}, {equal}"
        beyond = f"{self.wrong:,} BEYOND" if self.wrong else "none beyond"
        left = f"; {self.left_out:,} not finite, left out" if self.left_out else ""
        return (f"{self.source}: largest error {self.largest:.2e}, {self.worst:.2%} of what "
                f"rounding explains, {beyond} it{left}")  # fmt: skip


def exactly(source: str, found: NDArray[Any], expected: NDArray[Any]) -> Agreement:
    """Both must be equal."""
    wrong = int(np.count_nonzero(found != expected))
    return Agreement(source=source, criterion="exact", values=found.size, wrong=wrong)


def within(
    source: str, found: NDArray[Any], reference: NDArray[Any], bound: NDArray[Any]
) -> Agreement:
    """Compares values that may differ from the reference by up to their bounds."""
    usable = np.isfinite(found) & np.isfinite(reference) & np.isfinite(bound)
    error = np.abs(found[usable].astype(np.float64) - reference[usable])
    allowed = np.broadcast_to(bound, found.shape)[usable]
    share = np.divide(error, allowed, out=np.where(error > 0, np.inf, 0.0), where=allowed > 0)
    return Agreement(
        source=source,
        criterion="rounding",
        values=found.size,
        wrong=int(np.count_nonzero(error > allowed)),
        largest=float(error.max(initial=0.0)),
        worst=float(min(share.max(initial=0.0), np.finfo(np.float64).max)),
        left_out=int(usable.size - np.count_nonzero(usable)),
    )


def together(parts: Sequence[Agreement]) -> Agreement:
    """Several of one criterion as one."""
    first = parts[0]
    return Agreement(
        source=first.source,
        criterion=first.criterion,
        values=sum(part.values for part in parts),
        wrong=sum(part.wrong for part in parts),
        largest=max(part.largest for part in parts),
        worst=max(part.worst for part in parts),
        left_out=sum(part.left_out for part in parts),
        named=first.named,
    )
