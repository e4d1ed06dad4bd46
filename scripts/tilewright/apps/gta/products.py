"""Products of matrices on GTA, as all applications compute them: values, and what they take."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.host.activity import Stopwatch, activity
from ...sim.gta.golden.pgemm import pgemm
from ...sim.gta.schedule.pgemm import PGemm
from .options import GtaChoice
from .plan import planned
from .tally import GtaTally

__all__ = ["MOST_PRODUCTS", "GtaProducts", "check_products"]

Patterns = NDArray[np.uint64]

MOST_PRODUCTS = {"cycles": 8_000_000_000, "model": 8_000_000_000}
"""Multiplications of a run, by backend: some minutes."""


def check_products(what: object, choice: GtaChoice, products: int) -> None:
    """Raise UserError for a run of more multiplications than anybody waits for."""
    most = MOST_PRODUCTS[choice.backend]
    if products > most:
        raise UserError(
            f"{what}: {products:,} multiplications are too many for the {choice.backend} backend; "
            f"at most {most:,} are allowed"
        )


class GtaProducts:
    """Multiplies matrices on GTA; keeps a tally. A context manager.

    With backend "cycles" each product is given the schedule that is chosen for it among those that
    the user has left, and what that takes is counted; values are the golden model's, as with
    "model". They do not depend on schedules.

    Parameters
    ----------
    choice: the accelerator, and how the user wants it
    """

    def __init__(self, choice: GtaChoice) -> None:
        self._choice, self._open = choice, ExitStack()
        self.tally = GtaTally(config=choice.config)

    def __enter__(self) -> Self:
        self._open.enter_context(activity("computing on the model of gta"))
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def multiply(
        self, a: Patterns, b: Patterns, c: Patterns | None = None, *, result: str = "wrap"
    ) -> Patterns:
        """``c + a b`` of patterns of the choice's format, (M, K) and (K, N); ``c`` and what is
        returned as the golden model has it.

        ``result``: what is kept of sums of integers, "wrap" or "saturate". Raises UserError if no
        schedule fits the lanes' memories.
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
        if choice.backend != "model" and problem not in tally.schedules:
            tally.schedules[problem] = planned(choice, problem)
        found = pgemm(choice.format, a, b, c, result=result)
        tally.counts[problem] = tally.counts.get(problem, 0) + 1
        tally.seconds += watch.seconds
        return found
