"""A product of a tensor beside the same in float64, and what the format did to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import Format, IntFormat
from ...hw.spec.host.activity import activity
from ...sim.sparse.tensor import Tensor, modes_from
from ..common.rounding import largest, say

__all__ = ["TensorAgreement", "compare", "reference", "verdict", "warn_result"]

Numbers = NDArray[Any]

_PIECE = 1 << 21
"""Numbers of the reference's terms that are made at once."""


@dataclass(frozen=True, kw_only=True)
class TensorAgreement:
    """Comparison of a result with the reference.

    Parameters
    ----------
    source: where the reference comes from
    values: of the result
    wrong: values that differ by more than rounding explains
    largest: largest absolute error
    share: largest error as a share of what rounding explains; 0 if values must be equal
    overflows: values whose float64 ones the format does not reach: infinite, NaN or wrapped around
    special: other values that are infinite or NaN
    """

    source: str
    values: int
    wrong: int
    largest: float
    share: float
    overflows: int = 0
    special: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source, "wrong": self.wrong, "overflows": self.overflows,
            "not_finite": self.special,
            "largest_error": None if self.largest == float("inf") else self.largest,
        }  # fmt: skip


def reference(
    tensor: Tensor, mode: int, factors: list[Numbers], *, kronecker: bool, magnitudes: bool = False
) -> Numbers:
    """The sums of products in float64, or int64 if all is of integers: (slices, columns), of the
    Kronecker product of the rows or of their Hadamard product.

    ``magnitudes``: sums of the products' magnitudes instead.
    """
    slices = tensor.indices[:, mode]
    others = modes_from(tensor.order, mode)[1:]
    if magnitudes:
        factors = [np.abs(factor) for factor in factors]
    whole = tensor.values.dtype.kind == "i"
    factors = [factor.astype(np.int64 if whole else np.float64) for factor in factors]
    widths = [factor.shape[1] for factor in factors]
    width = int(np.prod(widths)) if kronecker else widths[-1]
    found = np.zeros((tensor.shape[mode], width), np.int64 if whole else np.float64)
    step = max(1, _PIECE // max(1, width))
    order = np.argsort(slices, kind="stable")
    for begin in range(0, len(order), step):
        some = order[begin : begin + step]
        terms = tensor.values[some][:, None]
        if magnitudes:
            terms = np.abs(terms)
        for other, factor in zip(others, factors, strict=True):
            rows = factor[tensor.indices[some, other]]
            if kronecker:
                terms = (terms[:, :, None] * rows[:, None, :]).reshape(len(some), -1)
            else:
                terms = terms * rows
        first = np.flatnonzero(np.diff(slices[some], prepend=-1))
        found[slices[some][first]] += np.add.reduceat(terms, first, axis=0)
    return found


@activity("comparing with the reference")
def compare(
    fmt: Format,
    tensor: Tensor,
    mode: int,
    factors: list[Numbers],
    result: Numbers,
    *,
    kronecker: bool,
    tiles: int,
) -> TensorAgreement:
    """Compare a result (slices, columns) with the sums in float64.

    Parameters
    ----------
    fmt: of sums
    tensor, factors: as the accelerator has them
    tiles: that may have added to a value
    """
    source = "NumPy in int64" if isinstance(fmt, IntFormat) else "NumPy in float64"
    with np.errstate(all="ignore"):
        expected = reference(tensor, mode, factors, kronecker=kronecker)
    if isinstance(fmt, IntFormat):
        wrap = 1 << fmt.bits
        wrapped = (expected - fmt.lowest) % wrap + fmt.lowest
        wrong = int(np.count_nonzero(wrapped != result))
        overflows = int(np.count_nonzero(wrapped != expected))
        return TensorAgreement(
            source=source,
            values=result.size,
            wrong=wrong,
            largest=float(wrong > 0),
            share=0.0,
            overflows=overflows,
        )
    with np.errstate(all="ignore"):
        scale = reference(tensor, mode, factors, kronecker=kronecker, magnitudes=True)
        allowed = _allowed(fmt, tensor, mode, factors, scale, tiles)
        value = result.astype(np.float64)
        error = np.abs(value - expected)
        same = (value == expected) | (np.isnan(value) & np.isnan(expected))
        error[same] = 0.0
        # Intermediate overflow may make a result infinite, or NaN, where the sum itself is finite.
        beyond = ~(np.maximum(scale, _largest_fiber(tensor, factors)) < 2.0**fmt.emax)
        share = np.where(same | beyond, 0.0, error / allowed)
    share[np.isnan(share)] = np.inf
    special = ~np.isfinite(value)
    over = special & np.isfinite(expected)
    return TensorAgreement(
        source=source,
        values=result.size,
        wrong=int(np.count_nonzero(~(share <= 1.0))),
        largest=float(np.max(np.where(np.isfinite(error), error, 0.0), initial=0.0)),
        share=float(share.max(initial=0.0)),
        overflows=int(np.count_nonzero(over)),
        special=int(np.count_nonzero(special & ~over)),
    )


def _allowed(
    fmt: Any, tensor: Tensor, mode: int, factors: list[Numbers], scale: Numbers, tiles: int
) -> Numbers:
    """Bounds the rounding errors: a product of each mode, and as many sums as a slice has values,
    or fewer, and a sum a tile, are rounded once each."""
    counts = np.bincount(tensor.indices[:, mode], minlength=tensor.shape[mode])[:, None]
    rounds = counts + tensor.order + tiles
    unit = 2.0**-fmt.significand_bits
    least = 2.0 ** (fmt.emin - fmt.fraction_bits)
    # The error of a subnormal number is multiplied by the factors after it.
    grows = 1.0
    for factor in factors[:-1]:
        grows *= max(1.0, float(np.abs(factor).max(initial=0.0)))
    return np.asarray(rounds * (unit * scale * (1 + unit) ** tensor.order + least * grows))


def _largest_fiber(tensor: Tensor, factors: list[Numbers]) -> float:
    """Bounds the sums of all fibers."""
    most = float(np.abs(factors[-1]).max(initial=0.0))
    return most * float(np.abs(tensor.values).sum())


def warn_result(what: str, agreement: TensorAgreement, fmt: Format) -> None:
    """Say on stderr what the format destroyed of a result, and what is not finite in it."""
    of = f"of {agreement.values:,} values"
    if agreement.overflows and isinstance(fmt, IntFormat):
        say(f"{what}: {agreement.overflows:,} {of} leave {fmt.lowest}..{fmt.highest}, the range of "
            f"{fmt.name}, and wrap around")  # fmt: skip
    elif agreement.overflows:
        say(f"{what}: {agreement.overflows:,} {of} exceed the largest {fmt.name} value "
            f"{largest(fmt):.6g} and are infinite or NaN")  # fmt: skip
    if agreement.special:
        say(f"{what}: {agreement.special:,} {of} are infinite or NaN")


def verdict(agreement: TensorAgreement) -> str:
    """A line about a comparison."""
    if agreement.wrong:
        return f"{agreement.source}: DIFFERENT: {agreement.wrong:,} values are wrong"
    lost = {"overflowed": agreement.overflows, "infinite or NaN": agreement.special}
    rest = ", ".join(f"{count:,} {what}" for what, count in lost.items() if count)
    rest = f"; of {agreement.values:,} values {rest}" if rest else ""
    if not agreement.share:
        return f"{agreement.source}: every {'other ' if rest else ''}value equal{rest}"
    return (
        f"{agreement.source}: largest error {agreement.largest:.2e}, at most "
        f"{agreement.share:.0%} of what rounding explains{rest}"
    )
