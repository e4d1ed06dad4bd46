"""An iterative computation in passes of two iterations each, and its solution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ....hw.spec.elementwise.program import Program
from ....hw.spec.formats import FloatFormat, Format
from ....hw.spec.semirings import Semiring
from ...numbers.values import Patterns, decode, encode
from ..result.elementwise import begin
from ..result.passes import one_pass
from ..result.products import Columns, Rules

__all__ = ["Problem", "Solution", "Stop", "solve"]


@dataclass(frozen=True, kw_only=True)
class Stop:
    """Rule that tells which iteration is the last one.

    Parameters
    ----------
    reductions: of E1 and of E2, by name, what is looked at after the first and the second iteration
        of a pass
    limit: the computation ends when it is less than that, rounded to the format; NaN is not
    """

    reductions: tuple[str, str]
    limit: float

    def pattern(self, fmt: Format) -> int:
        """The limit in a format."""
        number = self.limit if isinstance(fmt, FloatFormat) else int(self.limit)
        return int(encode(np.array([number]), fmt)[0])


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Iterated computation ``x' = E(x L)``; E1 and E2 are E, each with names of its own.

    Parameters
    ----------
    program: both
    semiring: of both products, or of the first one
    second: of the second product; None: as of the first
    transposed: the second product is with the transpose of L
    matrix: L
    x: (size, features) patterns, what it begins with
    scalars: by name, what comes with the job; reductions that E1 reads, as before the first pass
    vectors: by name, (size, features) patterns
    stop: None if only the number of iterations ends it
    results: the vectors that have the result after the first and after the second iteration
    """

    program: Program
    semiring: Semiring
    matrix: Columns
    x: Patterns
    scalars: Mapping[str, float]
    vectors: Mapping[str, Patterns]
    stop: Stop | None
    results: tuple[str, str] = ("z", "x")
    second: Semiring | None = None
    transposed: bool = False

    @property
    def semirings(self) -> tuple[Semiring, Semiring]:
        """Semirings of the two products."""
        return self.semiring, self.second or self.semiring


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Result of a problem.

    Parameters
    ----------
    result: (size, features) patterns
    vectors: by name, as they were at the end of the last pass
    scalars: by name, patterns, likewise
    iterations: that count
    passes: over the matrix
    wasted: iterations that were computed and do not count, 0 or 1
    settled: whether the stop rule ended it
    """

    result: Patterns
    vectors: dict[str, Patterns]
    scalars: dict[str, int]
    iterations: int
    passes: int
    wasted: int
    settled: bool


def solve(rules: Rules, problem: Problem, most: int) -> Solution:
    """Passes until the stop rule holds, or ``most`` iterations are done.

    The iterates are those of one iteration at a time, and so is the number that count.

    Raises ValueError if ``most`` is less than 1.
    """
    if most < 1:
        raise ValueError(f"`most` must be at least 1, not {most}")
    program = problem.program
    places = {name: number for number, name in enumerate(program.vectors)}
    names = {one.name: number for number, one in enumerate(program.scalars) if one.name}
    scalars = begin(program, rules.fmt, problem.scalars)
    vectors = {places[name]: values for name, values in problem.vectors.items()}
    x = problem.x
    done = passes = 0
    settled = False
    while done < most and not settled:
        passed = one_pass(
            rules,
            problem.matrix,
            x,
            program,
            problem.semirings,
            scalars,
            vectors,
            transposed=problem.transposed,
        )
        passes += 1
        x, scalars, vectors = passed.x, passed.scalars, passed.vectors
        for half in range(2):
            done += 1
            settled = _ends(problem.stop, half, names, scalars, rules)
            if settled or done == most:
                break
    last = (done + 1) % 2
    return Solution(
        result=vectors[places[problem.results[last]]],
        vectors={name: vectors[number] for name, number in places.items()},
        scalars={name: scalars[number] for name, number in names.items()},
        iterations=done,
        passes=passes,
        wasted=2 * passes - done,
        settled=settled,
    )


def _ends(
    stop: Stop | None, half: int, names: Mapping[str, int], scalars: list[int], rules: Rules
) -> bool:
    if stop is None:
        return False
    pair = [scalars[names[stop.reductions[half]]], stop.pattern(rules.fmt)]
    value, limit = decode(np.array(pair, np.uint64), rules.fmt)
    return bool(value < limit)
