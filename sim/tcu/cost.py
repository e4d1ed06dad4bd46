"""Counts the cost of an algorithm in the model: calls and rows of the unit, words of the CPU."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["Cost", "UnitWork"]


@dataclass(frozen=True)
class UnitWork:
    """Calls of the unit, and the rows of all their left operands.

    ``+`` is one after the other, ``* k`` is k times the same.
    """

    calls: int = 0
    rows: int = 0

    def __add__(self, other: UnitWork) -> UnitWork:
        return UnitWork(self.calls + other.calls, self.rows + other.rows)

    def __mul__(self, times: int) -> UnitWork:
        return UnitWork(self.calls * times, self.rows * times)

    def unit_time(self, s: int, latency: float = 0) -> float:
        """Time of the calls on a unit of side ``s``; an int if ``latency`` is one."""
        return self.rows * s + self.calls * latency


@dataclass
class Cost:
    """Counters of a run, all in words but for ``calls`` and ``rows``.

    Members
    -------
    calls, rows: of the unit, fused calls among them
    fused_calls: calls that added a third operand, which the paper's unit cannot
    cpu_adds: additions, subtractions, minima, comparisons
    cpu_multiplies: multiplications and divisions
    cpu_moves: words copied or written that are no results of those
    """

    calls: int = 0
    rows: int = 0
    fused_calls: int = 0
    cpu_adds: int = 0
    cpu_multiplies: int = 0
    cpu_moves: int = 0

    @property
    def cpu(self) -> int:
        """Words of all operations of the CPU."""
        return self.cpu_adds + self.cpu_multiplies + self.cpu_moves

    @property
    def work(self) -> UnitWork:
        """Calls and rows of the unit."""
        return UnitWork(self.calls, self.rows)

    def unit_time(self, s: int, latency: float = 0) -> float:
        """Time of the unit: ``rows * s + calls * latency``."""
        return self.work.unit_time(s, latency)

    def copy(self) -> Cost:
        """Returns a copy of the counters."""
        return replace(self)

    def __add__(self, other: Cost) -> Cost:
        """Returns the cost of one algorithm after the other."""
        return Cost(**{name: count + vars(other)[name] for name, count in vars(self).items()})

    def __mul__(self, times: int) -> Cost:
        """Returns the cost of so many repetitions."""
        return Cost(**{name: count * times for name, count in vars(self).items()})

    def __sub__(self, before: Cost) -> Cost:
        """Returns the cost since ``before``, an earlier copy."""
        return Cost(**{name: count - vars(before)[name] for name, count in vars(self).items()})
