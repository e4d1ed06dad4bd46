"""What the products of a run took on GTA."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from ...hw.spec.gta import COLS, ROWS, GtaConfig
from ...sim.gta.array_schedule import Schedule
from ...sim.gta.schedule.choice import Ranked
from ...sim.gta.schedule.cost import Cost
from ...sim.gta.schedule.pgemm import PGemm

__all__ = ["Chosen", "GtaTally"]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """How products of a kind were laid out.

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
class GtaTally:
    """What all products so far took.

    Parameters
    ----------
    config: of the accelerator
    counts: how often each product was computed
    chosen: how each was laid out; of the model of results alone nothing
    schedules: with the model of cycles those of each product, the best first
    counters: with the RTL its counters, added; those of jobs by the model of cycles
    undriven: why the driver does not do what schedules of the model of cycles do; empty: it does
    seconds: of the wall clock spent in simulation
    checked, mismatches: results compared with the model, and those that differ
    """

    config: GtaConfig
    counts: dict[PGemm, int] = field(default_factory=dict)
    chosen: dict[PGemm, Chosen] = field(default_factory=dict)
    schedules: dict[PGemm, list[Ranked]] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)
    undriven: str = ""
    seconds: float = 0.0
    checked: int = 0
    mismatches: int = 0

    def add(self, problem: PGemm, chosen: Chosen | None) -> None:
        """One more product, and how it was laid out."""
        self.counts[problem] = self.counts.get(problem, 0) + 1
        if chosen is not None:
            before = self.chosen[problem].cycles if problem in self.chosen else 0
            self.chosen[problem] = replace(chosen, cycles=before + chosen.cycles)

    @property
    def pgemms(self) -> int:
        """How many there were."""
        return sum(self.counts.values())

    @property
    def multiplications(self) -> int:
        """Of elements."""
        return sum(count * problem.products for problem, count in self.counts.items())

    @property
    def limb_products(self) -> int:
        """Multiplications of limbs."""
        return sum(count * problem.limb_products for problem, count in self.counts.items())

    @property
    def cost(self) -> Cost | None:
        """Of all, one after the other, by the model of cycles; None without it."""
        if not self.schedules:
            return None
        total = Cost()
        for problem, count in self.counts.items():
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
        """Multiplications of limbs over those that all lanes could do; None likewise."""
        cycles = self.cycles
        return self.limb_products / (cycles * ROWS * COLS * self.config.lanes) if cycles else None

    def by_cycles(self) -> list[PGemm]:
        """The products that were laid out, that of the most cycles in all first."""
        return sorted(self.chosen, key=lambda problem: self.chosen[problem].cycles, reverse=True)
