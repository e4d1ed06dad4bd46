"""Passes on a SIDA one by one: between two of them the host reads and writes vectors."""

from __future__ import annotations

from ..numbers.memory import to_bytes
from ..numbers.values import Patterns
from .driver import SidaDevice, SidaDriver
from .iterations.problem import Problem, Solution

__all__ = ["StepDriver"]


class StepDriver(SidaDriver):
    """Runs a problem in a device's memory pass by pass. Each pass is one job, and begins with the
    operand that the host has written.

    Parameters
    ----------
    device: the accelerator and its memory
    problem: without a stop
    first_address, rows: see :class:`SidaDriver`

    Members
    -------
    jobs: the counters of all passes, in order

    Raises
    ------
    ValueError as :class:`SidaDriver`, or if the problem does not fit the device, NoRoom if the
    memory is too small; ``step``: JobError if the device reports an error.
    """

    def __init__(
        self, device: SidaDevice, problem: Problem, first_address: int = 0, *, rows: str = "late"
    ) -> None:
        super().__init__(device, first_address, rows=rows)
        self._problem = problem
        self._job, self._places = self._place(problem)

    def step(self) -> None:
        """Run one pass."""
        status = self._registers.submit(self._job | {"PASSES": 1})
        status.check()
        self.jobs.append(status.counts)

    def solution(self) -> Solution:
        """Reads the solution from memory, after all passes so far."""
        passes = len(self.jobs)
        return self._solution(self._problem, self._places, 2 * passes, passes, True)

    def put_operand(self, patterns: Patterns, first: int = 0) -> None:
        """Write elements of the first product's operand, from element ``first`` on."""
        self._put("x", patterns, first)

    def put(self, name: str, patterns: Patterns, first: int = 0) -> None:
        """Write elements of one of the program's vectors, from element ``first`` on."""
        self._put(self._vector(name), patterns, first)

    def get(self, name: str) -> Patterns:
        """(size,) patterns of one of the program's vectors."""
        return self._read(self._places[self._vector(name)], self._problem.matrix.size)

    def scalar(self, name: str) -> int:
        """A scalar's pattern."""
        number = [one.name for one in self._problem.program.scalars].index(name)
        place = self._places["scalars"] + number * self.config.format.bits // 8
        return int(self._read(place, 1)[0])

    def _vector(self, name: str) -> str:
        return f"vector_{self._problem.program.vectors.index(name)}"

    def _put(self, place: str, patterns: Patterns, first: int) -> None:
        fmt = self.config.format
        address = self._places[place] + first * fmt.bits // 8
        self._device.write_memory(address, to_bytes(patterns, fmt))
