"""Seeds of k-means++: points drawn by their squared distance to the nearest one drawn before.

Points are the rows of a sparse matrix. In a pass the first product picks the row of the new seed
(aril-add, of an operand that is 1 there), the second one, with the transpose, meets it with every
point, and E2 keeps each point's distance to its nearest seed and adds all of them up. The host
draws the next seed.

Source: Arthur and Vassilvitskii, k-means++: the advantages of careful seeding (2007).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ....hw.spec.formats import FloatFormat, Format
from ....hw.spec.sida import SIDA_SEMIRINGS
from ...numbers.values import Patterns, decode, encode
from ..result.products import Rules
from .distances import DISTANCES
from .graphs import columns_of, vector_of
from .problem import Problem

__all__ = ["Coincide", "Seeds", "Steps", "draw_seeds", "drawn_from", "seeding"]

Floats = npt.NDArray[np.float64]


def seeding(rules: Rules, points: Any, distance: str = "euclidean") -> Problem:
    """A pass for each seed, without the operand: see :func:`draw_seeds`.

    Parameters
    ----------
    points: (points, features) SciPy matrix; with empty rows or columns it is made square
    distance: of ``DISTANCES``

    Raises ValueError if integers could not hold the sums.
    """
    fmt, size = rules.fmt, max(points.shape)
    second, program = DISTANCES[distance]
    square = csr_array(points)
    square.resize((size, size))
    far = fmt.constant("+inf")
    assert far is not None
    # Rows that are not points are at distance 0.
    nearest = np.zeros((size, 1), np.uint64)
    nearest[: points.shape[0]] = far
    vectors = {"nearest": nearest}
    squares = np.asarray(square.multiply(square).sum(axis=1)).ravel()
    # No distance is longer than both of its ends together.
    most = 4 * float(squares.max()) * points.shape[0]
    if not isinstance(fmt, FloatFormat) and most >= 1 << 31:
        raise ValueError(
            "squared distances must add up to less than 2^31 in int32: four times the largest "
            f"square, times {points.shape[0]} points, is {most:g}"
        )
    if distance == "euclidean":
        vectors["square"] = vector_of(squares, fmt)
    return Problem(
        program=program,
        semiring=SIDA_SEMIRINGS["aril-add"],
        second=SIDA_SEMIRINGS[second],
        transposed=True,
        matrix=columns_of(square, fmt),
        x=vector_of(np.zeros(size), fmt),
        scalars={},
        vectors=vectors,
        stop=None,
        results=("nearest", "nearest"),
    )


class Steps(Protocol):
    """Runs the passes: see ``StepDriver``."""

    def step(self) -> None: ...
    def put_operand(self, patterns: Patterns, first: int = 0) -> None: ...
    def put(self, name: str, patterns: Patterns, first: int = 0) -> None: ...
    def get(self, name: str) -> Patterns: ...
    def scalar(self, name: str) -> int: ...


@dataclass
class Coincide(Exception):
    """Raised if all points coincide with the first ``seeds`` seeds."""

    seeds: int


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """Seeds that were drawn.

    Parameters
    ----------
    chosen: points, from 0, in the order in which they were drawn
    totals: the sum of the squared distances to the nearest seed, after each
    nearest: (points,) those distances, after the last one; not compared
    """

    chosen: tuple[int, ...]
    totals: tuple[float, ...]
    nearest: Floats = field(compare=False)


def drawn_from(distances: Floats, target: float) -> int:
    """The first point up to which distances add up to more than ``target``, or the last one with a
    distance."""
    sums = np.cumsum(distances)
    last = int(np.flatnonzero(distances)[-1])
    return min(int(np.searchsorted(sums, target, side="right")), last)


def draw_seeds(
    steps: Steps, fmt: Format, points: int, count: int, rng: np.random.Generator
) -> Seeds:
    """Draw ``count`` of ``points`` points. The generator gives the first one's number, and for each
    other one its share of the sum of distances.

    Raises Coincide if that sum is 0 before all are drawn, ValueError if it is not finite.
    """
    one, zero = encode(np.array([1, 0]), fmt)[:, None]
    chosen = [int(rng.integers(points))]
    totals = []
    while True:
        seed = chosen[-1]
        steps.put_operand(one, seed)
        # Roundings do not part a seed from itself.
        steps.put("nearest", zero, seed)
        steps.step()
        steps.put_operand(zero, seed)
        nearest = decode(steps.get("nearest")[:points], fmt).astype(np.float64)
        total = float(decode(np.array([steps.scalar("total")], np.uint64), fmt)[0])
        if not np.isfinite(total):
            raise ValueError(f"squared distances must add up to a finite number in {fmt.name}")
        totals.append(total)
        if len(chosen) == count:
            return Seeds(chosen=tuple(chosen), totals=tuple(totals), nearest=nearest)
        if not nearest.any():
            raise Coincide(len(chosen))
        chosen.append(drawn_from(nearest, rng.random() * total))
