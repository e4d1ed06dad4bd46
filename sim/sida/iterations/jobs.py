"""A computation as a sequence of jobs: the host decides after each which is next, from scalars.

What OEI has no room for: a sum over a whole product that the next product waits for. A job goes
once over a matrix, or over vectors alone; vectors and scalars stay in the accelerator's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ....hw.spec.elementwise.assembler import assemble
from ....hw.spec.elementwise.program import Program
from ....hw.spec.formats import FloatFormat, Format
from ....hw.spec.semirings import SEMIRINGS
from ...numbers.values import Patterns, decode, encode
from ..result.elementwise import begin
from ..result.passes import one_pass
from ..result.products import Columns, Rules

__all__ = ["Found", "Job", "Machine", "Method", "ModelMachine", "Setup", "together"]

_SUMS = SEMIRINGS["mma"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A program, once over a matrix or over vectors alone.

    Parameters
    ----------
    program: its name
    x: the vector that is the first product's operand
    matrix: its name; None: one without elements: products are 0, E1 and E2 two sweeps over vectors
    second: whether there is a second product, and E2
    stored: what the program's vectors are in memory; those that are not named have the same name
        there. None is there for two of them
    """

    program: str
    x: str
    matrix: str | None = None
    second: bool = True
    stored: Mapping[str, str] = field(default_factory=dict)

    def vectors(self, program: Program) -> list[str]:
        """Returns the names of the vectors in memory, in the order of the program's numbers. Raises
        ValueError if one occurs twice, or ``stored`` names none of the program's."""
        if unknown := sorted(set(self.stored) - set(program.vectors)):
            raise ValueError(f"`stored` must be of vectors of {self.program}, not {unknown[0]}")
        found = [self.stored.get(name, name) for name in program.vectors]
        for name in found:
            if found.count(name) > 1:
                raise ValueError(f"`stored` must have each vector once, not {name} again")
        return found


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Contents of the memory before the first job, by name.

    Parameters
    ----------
    size: rows of all matrices
    programs: all number their scalars alike, see :func:`together`
    vectors: (size, 1) patterns of each that jobs work on
    given: scalars; reductions as they are before the first job that has them
    """

    size: int
    matrices: Mapping[str, Columns]
    programs: Mapping[str, Program]
    vectors: Mapping[str, Patterns]
    given: Mapping[str, float]

    def __post_init__(self) -> None:
        sizes = {
            "matrices": {name: matrix.size for name, matrix in self.matrices.items()},
            "vectors": {name: len(values) for name, values in self.vectors.items()},
        }
        for what, arrays in sizes.items():
            for name, size in arrays.items():
                if size != self.size:
                    raise ValueError(f"`{what}` must have {self.size} rows, not {size} as {name}")
        for name, program in self.programs.items():
            if program.scalars != self._one.scalars:
                raise ValueError(f"`programs` must have the same scalars, not others as {name}")

    @property
    def _one(self) -> Program:
        return next(iter(self.programs.values()))

    def scalars(self, fmt: Format) -> list[int]:
        """Patterns before the first job."""
        return begin(self._one, fmt, self.given)

    def names(self) -> dict[str, int]:
        """The numbers of scalars that have names."""
        return {one.name: n for n, one in enumerate(self._one.scalars) if one.name}

    def changed(self, values: Mapping[str, float], fmt: Format) -> dict[int, int]:
        """Patterns of scalars that get other values, by number. Raises ValueError for an unknown
        name."""
        names = self.names()
        if unknown := sorted(set(values) - set(names)):
            raise ValueError(f"`values` must be of {', '.join(names)}, not {unknown[0]}")
        numbers = np.array(list(values.values()), np.float64)
        if not isinstance(fmt, FloatFormat):
            numbers = numbers.astype(np.int64)
        patterns = encode(numbers, fmt)
        return {names[name]: int(one) for name, one in zip(values, patterns, strict=True)}


class Machine(Protocol):
    """Runs jobs: the golden model, or a driver with its device."""

    @property
    def fmt(self) -> Format: ...
    def run(self, job: Job) -> None: ...
    def give(self, values: Mapping[str, float]) -> None:
        """Scalars from the next job on, by name, rounded to the format."""

    def scalars(self) -> dict[str, float]:
        """Returns the current scalars by name."""

    def vector(self, name: str) -> Patterns:
        """(size, 1) patterns."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """Result of a computation.

    Parameters
    ----------
    result: the vector that has it, or the first one
    iterations: that count
    settled: whether it has converged
    residuals: before the first iteration and after each, as the iterations carry it along, in the
        2-norm
    why: what else than the number of iterations has ended it
    wasted: products that were computed and do not count
    """

    result: str
    iterations: int
    settled: bool
    residuals: tuple[float, ...]
    why: str = ""
    wasted: int = 0


@dataclass(frozen=True, kw_only=True)
class Method:
    """A computation.

    Parameters
    ----------
    setup: what is in memory
    host: its part: runs jobs on a machine for at most so many iterations
    limit: it has converged when the residual is below, or 0
    """

    setup: Setup
    host: Callable[[Machine, int], Found]
    limit: float

    def solve(self, machine: Machine, most: int) -> Found:
        """Raises ValueError if ``most`` is less than 1."""
        if most < 1:
            raise ValueError(f"`most` must be at least 1, not {most}")
        return self.host(machine, most)


def together(declared: str, parts: Mapping[str, str]) -> dict[str, Program]:
    """Programs with the same declarations, so that they number scalars alike."""
    return {name: assemble(f"{declared}\n{text}") for name, text in parts.items()}


class ModelMachine:
    """Jobs by the golden model.

    Parameters
    ----------
    rules: of the accelerator's sums
    setup: what is in memory
    """

    def __init__(self, rules: Rules, setup: Setup) -> None:
        self._rules, self._setup = rules, setup
        self._vectors = dict(setup.vectors)
        self._scalars = setup.scalars(rules.fmt)
        nothing = np.zeros(0, np.uint64)
        self._none = Columns(
            pointers=np.zeros(setup.size + 1, np.int64), rows=np.zeros(0, np.int64), values=nothing
        )

    @property
    def fmt(self) -> Format:
        return self._rules.fmt

    def run(self, job: Job) -> None:
        program = self._setup.programs[job.program]
        stored = job.vectors(program)
        passed = one_pass(
            self._rules,
            self._none if job.matrix is None else self._setup.matrices[job.matrix],
            self._vectors[job.x],
            program,
            (_SUMS, _SUMS if job.second else None),
            self._scalars,
            {number: self._vectors[name] for number, name in enumerate(stored)},
        )
        self._scalars = passed.scalars
        for number, name in enumerate(stored):
            self._vectors[name] = passed.vectors[number]

    def give(self, values: Mapping[str, float]) -> None:
        for number, pattern in self._setup.changed(values, self.fmt).items():
            self._scalars[number] = pattern

    def scalars(self) -> dict[str, float]:
        values = decode(np.array(self._scalars, np.uint64), self.fmt)
        return {name: float(values[number]) for name, number in self._setup.names().items()}

    def vector(self, name: str) -> Patterns:
        return self._vectors[name]
