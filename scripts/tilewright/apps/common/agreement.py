"""A result beside a reference that we did not write, and what rounding explains between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .limits import counted

__all__ = ["Agreement", "exactly", "together", "within"]


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
