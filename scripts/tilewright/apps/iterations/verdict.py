"""How values compare with those of a library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CheckFailed
from ...hw.spec.formats import FloatFormat, Format
from ..common.extras import need

__all__ = ["Verdict", "against_cores", "against_hops", "against_lengths", "against_means",
           "against_ranks", "residual_of"]  # fmt: skip

Floats = NDArray[np.float64]
_SUMS = 32
"""Roundings of an iteration's sums and element-wise work, at most."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Values beside a reference.

    Parameters
    ----------
    source: the library's function
    measure: of what ``error`` is
    error: found; ``allowed``: what it may be
    wrong: values that differ by more, or 1 if the measure is of all together
    """

    source: str
    measure: str
    error: float
    allowed: float
    wrong: int

    def in_words(self) -> str:
        """A line of a report."""
        if self.wrong:
            return (
                f"{self.source}: DIFFERENT: {self.measure} {self.error:.3g}, "
                f"{self.allowed:.3g} allowed"
            )
        if not self.error:
            return f"{self.source}: every value equal"
        return f"{self.source}: {self.measure} {self.error:.2e}, {self.allowed:.2e} allowed"


def _unit(fmt: Format) -> float:
    return 2.0**-fmt.significand_bits if isinstance(fmt, FloatFormat) else 0.0


def against_ranks(
    fmt: Format, ranks: Floats, graph: Any, *, alpha: float, tolerance: float, most: int
) -> Verdict:
    """PageRank by NetworkX, in float64, to the same tolerance: both are the rank up to what an
    iteration still moves."""
    networkx = need("networkx", "NetworkX")
    whole = networkx.from_scipy_sparse_array(graph, create_using=networkx.DiGraph)
    try:
        found = networkx.pagerank(whole, alpha=alpha, tol=tolerance, max_iter=most)
    except networkx.PowerIterationFailedConvergence:
        raise CheckFailed(
            f"NetworkX does not converge in {most} iterations, where the accelerator does"
        ) from None
    expected = np.array([found[vertex] for vertex in range(graph.shape[0])])
    error = float(np.abs(ranks - expected).sum())
    # Each iteration's roundings are damped by alpha in the next one.
    rounding = _SUMS * _unit(fmt) / max(1 - alpha, 1 / most)
    allowed = graph.shape[0] * tolerance + rounding
    return Verdict(
        source="NetworkX pagerank",
        measure="1-norm of the difference",
        error=error,
        allowed=allowed,
        wrong=int(not error <= allowed),
    )


def _exact(source: str, found: NDArray[Any], expected: NDArray[Any]) -> Verdict:
    wrong = found != expected
    return Verdict(
        source=source,
        measure="vertices that differ",
        error=float(np.count_nonzero(wrong)),
        allowed=0.0,
        wrong=int(np.count_nonzero(wrong)),
    )


def _hops(graph: Any, source: int) -> Floats:
    csgraph = need("scipy.sparse.csgraph", "SciPy")
    found: Floats = csgraph.dijkstra(graph, unweighted=True, indices=source)
    return found


def against_hops(levels: NDArray[Any], graph: Any, source: int, most: int | None) -> Verdict:
    """Edges of the shortest paths from a vertex, -1 where none leads; of those of ``most`` edges at
    most, if that is given. ``graph``: all of weight 1."""
    hops = _hops(graph, source)
    limit = np.inf if most is None else most
    expected = np.where(np.isinf(hops) | (hops > limit), -1, hops)
    return _exact("SciPy csgraph.dijkstra, unweighted", levels, expected)


def against_lengths(
    fmt: Format, lengths: Floats, graph: Any, source: int, iterations: int
) -> Verdict:
    """Lengths of shortest paths from a vertex. ``graph``: with the weights as rounded."""
    csgraph = need("scipy.sparse.csgraph", "SciPy")
    expected: Floats = csgraph.dijkstra(graph, indices=source)
    if not isinstance(fmt, FloatFormat):
        return _exact("SciPy csgraph.dijkstra", lengths, expected)
    with np.errstate(invalid="ignore"):
        error = np.where(lengths == expected, 0.0, np.abs(lengths - expected) / expected)
    error[np.isnan(error)] = np.inf
    # A rounding for each edge of a path.
    allowed = iterations * (_unit(fmt) + 2.0**-52) * 1.01
    return Verdict(
        source="SciPy csgraph.dijkstra",
        measure="largest relative difference",
        error=float(error.max(initial=0.0)),
        allowed=allowed,
        wrong=int(np.count_nonzero(~(error <= allowed))),
    )


def against_cores(cores: NDArray[Any], graph: Any) -> Verdict:
    """Core numbers of a graph without directions or loops."""
    networkx = need("networkx", "NetworkX")
    whole = networkx.from_scipy_sparse_array(graph)
    found = networkx.core_number(whole)
    expected = np.array([found[vertex] for vertex in range(graph.shape[0])])
    return _exact("NetworkX core_number", cores, expected)


def against_means(
    fmt: Format, values: Floats, graph: Any, given: Floats, iterations: int
) -> Verdict:
    """So many iterations of label propagation in float64; roundings of means do not grow."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    expected = np.full(graph.shape[0], 0.5)
    expected[: len(given)] = given
    free = degrees != 0
    free[: len(given)] = False
    for _ in range(iterations):
        means = graph @ expected
        expected[free] = means[free] / degrees[free]
    error = float(np.abs(values - expected).max())
    allowed = iterations * _SUMS * (_unit(fmt) + 2.0**-52)
    return Verdict(
        source="as many iterations in float64, SciPy",
        measure="largest difference",
        error=error,
        allowed=allowed,
        wrong=int(not error <= allowed),
    )


def residual_of(
    fmt: Format,
    matrix: Any,
    b: Floats,
    x: Floats,
    tolerance: float,
    iterations: int,
    peak: float = 0.0,
) -> Verdict:
    """What a solution leaves of the right side, in float64. The residual that the iterations carry
    along departs from it by their roundings, of values up to the largest residual, ``peak``."""
    size = float(np.linalg.norm(b))
    error = float(np.linalg.norm(b - matrix @ x)) / size
    largest = float(np.abs(matrix).sum(axis=1).max()) * float(np.linalg.norm(x)) + peak
    allowed = 1.1 * tolerance + iterations * _unit(fmt) * largest / size
    return Verdict(
        source="the residual in float64",
        measure="relative to the right side, 2-norm",
        error=error,
        allowed=allowed,
        wrong=int(not error <= allowed),
    )
