"""The cost of a schedule of a p-GEMM."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

__all__ = ["Accesses", "Cost", "Moved"]


@dataclass(frozen=True, kw_only=True)
class Accesses:
    """Elements that the array reads and writes in the memories of lanes, as SCALE-Sim counts its
    accesses to SRAM: each once a fold that takes it in, whatever its limbs.

    Parameters
    ----------
    a, b: of A and B, read
    sums_read, sums_written: of results, C and partial sums among them; of sums of segments that
        are added up also the ones by which they are multiplied
    """

    a: int = 0
    b: int = 0
    sums_read: int = 0
    sums_written: int = 0

    @property
    def total(self) -> int:
        return self.a + self.b + self.sums_read + self.sums_written

    def __add__(self, other: Accesses) -> Accesses:
        return Accesses(**{f.name: _both(self, other, f.name) for f in fields(self)})

    def times(self, count: int) -> Accesses:
        """Returns the accesses multiplied by a count."""
        return Accesses(**{f.name: count * getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class Moved:
    """Bytes between memory and chip, of the elements alone.

    Parameters
    ----------
    a, b: of A and B, read
    sums_read, sums_written: of C and D, and of sums of segments that are added later, with the
        ones by which they are multiplied
    """

    a: int = 0
    b: int = 0
    sums_read: int = 0
    sums_written: int = 0

    @property
    def read(self) -> int:
        return self.a + self.b + self.sums_read

    @property
    def total(self) -> int:
        return self.read + self.sums_written

    def __add__(self, other: Moved) -> Moved:
        return Moved(**{f.name: _both(self, other, f.name) for f in fields(self)})

    def times(self, count: int) -> Moved:
        """Returns the traffic multiplied by a count."""
        return Moved(**{f.name: count * getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The total cost.

    Parameters
    ----------
    cycles: of the array, of a chain of commands whose operands are on chip in time
    port_cycles: of the busier memory port, at a beat a cycle
    commands: of p-GEMM
    accesses, moved: see there
    """

    cycles: int = 0
    port_cycles: int = 0
    commands: int = 0
    accesses: Accesses = Accesses()
    moved: Moved = Moved()

    @property
    def time(self) -> int:
        """Cycles that no run of the same commands is faster than: the array's, or the memory
        port's."""
        return max(self.cycles, self.port_cycles)

    def __add__(self, other: Cost) -> Cost:
        """One after the other."""
        return Cost(**{f.name: _both(self, other, f.name) for f in fields(self)})


def _both(one: object, other: object, name: str) -> Any:
    return getattr(one, name) + getattr(other, name)
