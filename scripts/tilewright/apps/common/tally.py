"""What the products of a run took."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Tally"]


@dataclass
class Tally:
    """What the products so far took.

    Parameters
    ----------
    operations: of the unit
    busy_cycles: sum of their initiation intervals, the fewest cycles they can take
    cycles: clock cycles; 0 on the model
    seconds: of the wall clock spent in simulation
    checked, mismatches: elements of results compared with the model, and those that differ
    """

    operations: int = 0
    busy_cycles: int = 0
    cycles: int = 0
    seconds: float = 0.0
    checked: int = 0
    mismatches: int = 0

    @property
    def utilisation(self) -> float:
        """Share of cycles in which an operation could start and did."""
        return self.busy_cycles / self.cycles if self.cycles else 0.0
