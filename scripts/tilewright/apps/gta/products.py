"""Computes products of matrices on GTA for all applications: values and costs."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.gta import COLS, ROWS, GtaConfig, is_float, limbs, result_bytes
from ...hw.spec.host.activity import Stopwatch, activity
from ...sim.gta.array_job import Schedule
from ...sim.gta.driver import GtaDriver
from ...sim.gta.golden.pgemm import pgemm
from ...sim.gta.schedule.cost import Cost, PGemm
from ...sim.gta.schedule.explain import Ranked, ranked, space
from ..common.limits import other_backend
from ..common.session import Session, Tally
from ..common.units.gta import GtaChoice, gta_session

__all__ = ["MOST_PRODUCTS", "Chosen", "GtaProducts", "GtaTally", "check_products"]

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


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Chosen schedule for products of a kind.

    Parameters
    ----------
    words: the dataflow, the layout, and what else there is to say
    coverage: how a product covers the array; None if the driver has cut it into tiles
    cycles: of all products of the kind
    schedule: what the words say of the array
    """

    words: str
    coverage: str | None
    cycles: int
    schedule: Schedule


@dataclass(kw_only=True)
class GtaTally(Tally):
    """Totals of all products so far.

    Parameters
    ----------
    config: of the accelerator
    counts: with the RTL its counters, added; those of jobs by the model of cycles
    times: how often each product was computed
    chosen: how each was laid out; of the model of results alone nothing
    schedules: with the model of cycles those of each product, the best first
    undriven: why the driver does not do what schedules of the model of cycles do; empty: it does
    """

    config: GtaConfig
    times: dict[PGemm, int] = field(default_factory=dict)
    chosen: dict[PGemm, Chosen] = field(default_factory=dict)
    schedules: dict[PGemm, list[Ranked]] = field(default_factory=dict)
    undriven: str = ""

    def add(self, problem: PGemm, chosen: Chosen | None) -> None:
        """Adds one product and its schedule."""
        self.times[problem] = self.times.get(problem, 0) + 1
        if chosen is not None:
            before = self.chosen[problem].cycles if problem in self.chosen else 0
            self.chosen[problem] = replace(chosen, cycles=before + chosen.cycles)

    @property
    def pgemms(self) -> int:
        """Number of products."""
        return sum(self.times.values())

    @property
    def multiplications(self) -> int:
        """Number of multiplications of elements."""
        return sum(count * problem.products for problem, count in self.times.items())

    @property
    def limb_products(self) -> int:
        """Multiplications of limbs."""
        return sum(count * problem.limb_products for problem, count in self.times.items())

    @property
    def cost(self) -> Cost | None:
        """Cost of all products, one after the other, by the model of cycles; None without it."""
        if not self.schedules:
            return None
        total = Cost()
        for problem, count in self.times.items():
            one = self.schedules[problem][0].evaluated.cost
            total += Cost(
                cycles=count * one.cycles,
                port_cycles=count * one.port_cycles,
                commands=count * one.commands,
                accesses=one.accesses.times(count),
                moved=one.moved.times(count),
            )
        return total

    @property
    def cycles(self) -> int | None:
        """The array's by the model of cycles; of whole jobs on the RTL; None where nothing
        counts."""
        if not self.chosen:
            return None
        return sum(chosen.cycles for chosen in self.chosen.values())

    @property
    def utilisation(self) -> float | None:
        """Multiplications of limbs over those that all lanes could do; None without cycles."""
        cycles = self.cycles
        return self.limb_products / (cycles * ROWS * COLS * self.config.lanes) if cycles else None

    def by_cycles(self) -> list[PGemm]:
        """The products that were laid out, that of the most cycles in all first."""
        return sorted(self.chosen, key=lambda problem: self.chosen[problem].cycles, reverse=True)


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
        self._session: Session[GtaDriver] | None = None
        if choice.backend == "rtl" or (jobs and choice.backend == "cycles"):
            self._session = self._open.enter_context(gta_session(choice))
        self.tally = GtaTally(config=choice.config)

    def __enter__(self) -> Self:
        where = "gta" if self._choice.backend == "rtl" else "the model of gta"
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
        if self._session:
            try:
                driven, laid = _driven(self._session, choice, a, b, c, result)
                tally.count(self._session.driver.counts)
            except UserError as error:
                if choice.backend == "rtl":
                    raise
                tally.undriven = str(error)
            else:
                tally.undriven = ""
                if choice.backend == "rtl":
                    found, chosen = driven, laid
                    tally.compare(found, expected)
        tally.add(problem, chosen)
        tally.seconds += watch.seconds
        return found

    def _chosen(self, problem: PGemm) -> Chosen:
        """The best of the schedules that are left."""
        known = self.tally.schedules
        if problem not in known:
            known[problem] = _planned(self._choice, problem)
        best = known[problem][0].evaluated
        return Chosen(
            words=best.schedule.words,
            coverage=best.coverage,
            cycles=best.cost.cycles,
            schedule=best.schedule,
        )


def _driven(
    session: Session[GtaDriver],
    choice: GtaChoice,
    a: Patterns,
    b: Patterns,
    c: Patterns | None,
    result: str,
) -> tuple[Patterns, Chosen]:
    """``c + a b`` by the driver, and how it was laid out. Raises UserError for what the accelerator
    cannot do."""
    asked = choice.asked
    settings: dict[str, Any] = {
        "dataflow": asked.dataflow or "auto",
        "layout": asked.layout,
        "segments": asked.segments,
        "lateral": asked.lateral is not False,
        "along": asked.along if asked.dataflow == "simd" else None,
        "filled": bool(asked.filled),
    }
    found = session.run(
        lambda driver: driver.pgemm(choice.format, a, b, c, result=result, **settings),
    )
    driver = session.driver
    laid, schedule = driver.choice, driver.schedule
    assert schedule is not None
    words = f"{schedule.words}, a sum an element"
    if laid:
        tiles = " x ".join(map(str, (laid.tiling.m, laid.tiling.n, laid.tiling.k)))
        words = f"{schedule.words}, tiles of {tiles}"
    if rest := driver.left_over:
        words += f", left over {rest.schedule.words}"
    cycles = driver.counts["cycles"]
    return found, Chosen(words=words, coverage=None, cycles=cycles, schedule=schedule)


def _planned(choice: GtaChoice, problem: PGemm) -> list[Ranked]:
    """The best first. Raises UserError if there is none."""
    found = [one for one in space(choice.config, problem) if choice.asked.allows(one.schedule)]
    if not found:
        raise UserError(
            f"no schedule of {problem.m} x {problem.n} x {problem.k} in {problem.format} that is "
            f"asked for fits `vector_bytes` {choice.config.vector_bytes}{_sums_said(choice)}"
        )
    return ranked(found)


def _sums_said(choice: GtaChoice) -> str:
    """Describes the format of the sums of segments, which comes beside memory."""
    if is_float(choice.format) or (choice.asked.segments or 1) == 1:
        return ""
    return f", with a format of {8 * result_bytes(choice.format)} bits for sums of segments"
