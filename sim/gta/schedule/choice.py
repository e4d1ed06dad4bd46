"""Which schedule is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....hw.spec.gta import GtaConfig
from .evaluate import Evaluated
from .pgemm import PGemm
from .space import space

__all__ = ["Ranked", "choose", "ranked"]


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """A schedule of a space.

    Parameters
    ----------
    evaluated: the schedule
    cycles, accesses: over the least of the space
    """

    evaluated: Evaluated
    cycles: float
    accesses: float

    @property
    def score(self) -> float:
        """The sum of both squares: 2 at best."""
        return self.cycles**2 + self.accesses**2


def ranked(found: Sequence[Evaluated], *, port: bool = False) -> list[Ranked]:
    """The least score first; among equals the one that moves less, then the first of the space.

    Cycles are the array's, or with ``port`` those of the memory port where these are more.

    Source: the paper's section 5, "the least sum of squares" of normalised outcomes.
    """
    cycles = [one.cost.time if port else one.cost.cycles for one in found]
    accesses = [one.cost.accesses.total for one in found]
    each = [
        Ranked(evaluated=one, cycles=own / min(cycles), accesses=taken / min(accesses))
        for one, own, taken in zip(found, cycles, accesses, strict=True)
    ]
    return sorted(each, key=lambda one: (one.score, one.evaluated.cost.moved.total))


def choose(config: GtaConfig, problem: PGemm, *, port: bool = False) -> Evaluated:
    """The schedule of least score."""
    return ranked(space(config, problem), port=port)[0].evaluated
