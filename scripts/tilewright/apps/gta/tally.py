"""What the products of a run took on GTA."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...hw.spec.gta import COLS, ROWS, GtaConfig
from ...sim.gta.schedule.choice import Ranked
from ...sim.gta.schedule.cost import Cost
from ...sim.gta.schedule.pgemm import PGemm

__all__ = ["GtaTally"]


@dataclass(kw_only=True)
class GtaTally:
    """What all products so far took.

    Parameters
    ----------
    config: of the accelerator
    counts: how often each product was computed
    schedules: of each, the best first; of the model of results alone none
    seconds: of the wall clock spent in simulation
    checked, mismatches: results compared with the model, and those that differ
    """

    config: GtaConfig
    counts: dict[PGemm, int] = field(default_factory=dict)
    schedules: dict[PGemm, list[Ranked]] = field(default_factory=dict)
    seconds: float = 0.0
    checked: int = 0
    mismatches: int = 0

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
        """Of all, one after the other; None where nothing counts."""
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
    def utilisation(self) -> float | None:
        """Multiplications of limbs over those that all lanes could do; None likewise."""
        cost = self.cost
        if cost is None or not cost.cycles:
            return None
        return self.limb_products / (cost.cycles * ROWS * COLS * self.config.lanes)

    def largest(self) -> PGemm:
        """The product that took the most cycles in all."""
        return max(self.schedules, key=self.cycles_of)

    def cycles_of(self, problem: PGemm) -> int:
        """Cycles of all products like this."""
        return self.counts[problem] * self.schedules[problem][0].evaluated.cost.cycles
