"""Products of matrices on GTA, as all applications compute them: values, and what they take."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.gta import limbs
from ...hw.spec.host.activity import Stopwatch, activity
from ...sim.gta.golden.pgemm import pgemm
from ...sim.gta.schedule.pgemm import PGemm
from ..common.limits import other_backend
from .options import GtaChoice
from .plan import planned
from .tally import Chosen, GtaTally

if TYPE_CHECKING:
    from .device import GtaRtl

__all__ = ["MOST_PRODUCTS", "GtaProducts", "check_products"]

Patterns = NDArray[np.uint64]

MOST_PRODUCTS = {"rtl": 500_000_000, "cycles": 10_000_000_000, "model": 10_000_000_000}
"""Multiplications of a run, on the RTL of limbs, by backend: some minutes."""

_BROUGHT = 16
"""Times as long that products by vectors take on the RTL, about."""


def check_products(what: object, choice: GtaChoice, products: int) -> None:
    """Raise UserError for a run of more multiplications than anybody waits for."""
    rtl = choice.backend == "rtl"
    count, named = products * (limbs(choice.format) ** 2 if rtl else 1), " of limbs" * rtl
    most = MOST_PRODUCTS[choice.backend]
    if rtl and choice.asked.dataflow == "simd":
        # Each element of the array is brought operands of its own.
        most //= _BROUGHT
    if count > most:
        raise UserError(
            f"{what}: {count:,} multiplications{named} are too many for the {choice.backend} "
            f"backend; at most {most:,} are allowed"
            f"{other_backend(MOST_PRODUCTS, choice.backend, products)}"
        )


class GtaProducts:
    """Multiplies matrices on GTA; keeps a tally. A context manager.

    With backend "rtl" the generated Verilog computes each product, by the driver, and every result
    is compared with the golden model's, bit for bit. With "cycles" each product is given the
    schedule that is chosen for it among those that the user has left, and what that takes is
    counted; values are the golden model's, as with "model". They do not depend on schedules.

    Parameters
    ----------
    choice: the accelerator, and how the user wants it
    jobs: with "cycles" jobs are counted, too, as the driver lays them out on the RTL
    """

    def __init__(self, choice: GtaChoice, *, jobs: bool = False) -> None:
        self._choice, self._open = choice, ExitStack()
        self._rtl: GtaRtl | None = None
        self._clock: GtaRtl | None = None
        self._jobs = jobs and choice.backend == "cycles"
        self.tally = GtaTally(config=choice.config)

    def __enter__(self) -> Self:
        if self._choice.backend == "rtl":
            from .device import GtaRtl

            self._rtl = GtaRtl(self._choice)
            self._open.callback(self._rtl.close)
        elif self._jobs:
            from .device import GtaRtl

            self._clock = GtaRtl(self._choice)
            self._open.callback(self._clock.close)
        where = "gta" if self._rtl else "the model of gta"
        self._open.enter_context(activity(f"computing on {where}"))
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def multiply(
        self, a: Patterns, b: Patterns, c: Patterns | None = None, *, result: str = "wrap"
    ) -> Patterns:
        """``c + a b`` of patterns of the choice's format, (M, K) and (K, N); ``c`` and what is
        returned as the golden model has it.

        ``result``: what is kept of sums of integers, "wrap" or "saturate". Raises UserError if it
        does not fit the lanes' memories.
        """
        choice, tally = self._choice, self.tally
        problem = PGemm(
            m=a.shape[0],
            n=b.shape[1],
            k=a.shape[1],
            format=choice.format,
            accumulate=c is not None,
        )
        watch = Stopwatch()
        chosen = self._chosen(problem) if choice.backend == "cycles" else None
        expected = found = pgemm(choice.format, a, b, c, result=result)
        if self._rtl:
            found, chosen = self._rtl.multiply(a, b, c, result)
            tally.counters.update(self._rtl.counts)
            tally.checked += found.size
            tally.mismatches += int(np.count_nonzero(found != expected))
        elif self._clock:
            tally.undriven = self._count(self._clock, a, b, c, result)
        tally.add(problem, chosen)
        tally.seconds += watch.seconds
        return found

    def _count(
        self, clock: GtaRtl, a: Patterns, b: Patterns, c: Patterns | None, result: str
    ) -> str:
        """Count a job; returns why the driver does not do it, if it does not."""
        try:
            clock.multiply(a, b, c, result)
        except UserError as error:
            return str(error)
        self.tally.counters.update(clock.counts)
        return ""

    def _chosen(self, problem: PGemm) -> Chosen:
        """The best of the schedules that are left."""
        known = self.tally.schedules
        if problem not in known:
            known[problem] = planned(self._choice, problem)
        best = known[problem][0].evaluated
        return Chosen(
            words=best.schedule.words,
            coverage=best.coverage,
            cycles=best.cost.cycles,
            schedule=best.schedule,
        )
