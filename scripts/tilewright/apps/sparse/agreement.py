"""A sparse product beside its reference, and what the format did to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...hw.spec.formats import Format, IntFormat
from ...hw.spec.semirings import Semiring
from ..common.rounding import largest, round_to, say
from .reference import Expected, expected_product, wrapped

__all__ = ["SparseAgreement", "compare_sparse", "verdict", "warn_result"]


@dataclass(frozen=True, kw_only=True)
class SparseAgreement:
    """How a result compares with the reference.

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
    # What overflows on the way may be infinite, or NaN, where the sum itself is not.
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
