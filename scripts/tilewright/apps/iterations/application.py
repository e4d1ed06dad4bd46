"""Runs the steps that all commands of iterations share, from the file to the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CheckFailed
from ...hw.spec.formats import FloatFormat, Format
from ...sim.numbers.values import decode
from ...sim.sida.iterations.problem import Problem, Solution
from ...sim.sida.result.products import Rules
from ..common.files import MARKET, kind_of, need
from ..common.matrix_files import write_array
from ..common.units.sida import SidaChoice
from ..common.units.sida_report import Residual, Verdict, iteration_report, outcome_of_problem
from ..common.units.sida_runs import SidaRun
from .inputs import Source

Floats = NDArray[np.float64]
_MOST = 100_000
"""Iterations of NetworkX' PageRank."""


def _unit(fmt: Format) -> float:
    """The unit roundoff: the largest relative error of a rounding."""
    return 2.0**-fmt.significand_bits if isinstance(fmt, FloatFormat) else 0.0


def _least(fmt: Format) -> float:
    """Half of the least subnormal number: the largest error of a rounding among those."""
    return 2.0 ** (fmt.emin - fmt.significand_bits) if isinstance(fmt, FloatFormat) else 0.0


def _additions(rules: Rules, count: int) -> NDArray[np.int64]:
    """Returns how many additions each of ``count`` summed numbers takes part in: those of the trees
    at both ends, and one per turn from its own to the last."""
    turns = np.arange(count) // (rules.leaves * rules.partials)
    trees = (rules.leaves - 1).bit_length() + (rules.partials - 1).bit_length()
    found: NDArray[np.int64] = trees + turns[-1] - turns + 1
    return found


def against_ranks(
    rules: Rules,
    ranks: Floats,
    graph: Any,
    *,
    alpha: float,
    tolerance: float,
    iterations: int,
    change: float,
) -> Verdict:
    """Compares ranks with NetworkX' PageRank in float64, iterated further than they were.

    An iteration brings ranks closer to the PageRank by the factor ``alpha``, and its roundings
    move them by at most e in the 1-norm. Ranks that the last iteration changed by ``change`` are
    therefore within (alpha * change + e) / (1 - alpha) of the PageRank. With ``alpha`` 1 there is
    no such bound: roundings add up, and NetworkX stops by the same ``tolerance``, an iteration
    earlier or later.

    e is the sum over vertices of rank, roundings and unit roundoff. A vertex has a rounding for
    each incoming edge (the addition) and 5 more (the edge's share, its product, ``alpha``, two
    after the sum). A dangling vertex has those additions of the sum of all such that its rank
    takes part in. Each rounding of a subnormal
    number loses up to half of the least subnormal.
    """
    networkx = need("networkx", "NetworkX")
    whole = networkx.from_scipy_sparse_array(graph, create_using=networkx.DiGraph)
    size = graph.shape[0]
    incoming = np.bincount(graph.indices, minlength=size)
    dangling = np.asarray(graph.sum(axis=1)).ravel() == 0
    roundings = float(ranks @ (incoming + 5))
    roundings += alpha * float(ranks[dangling] @ _additions(rules, size)[dangling])
    unit = _unit(rules.fmt) + 2.0**-52
    moved = unit * roundings + _least(rules.fmt) * float((incoming + 5).sum())
    if alpha < 1:
        allowed = (alpha * change + moved) / (1 - alpha)
        left = max(1e-14, 0.01 * allowed * (1 - alpha))
        allowed += alpha * left / (1 - alpha)
    else:
        allowed = iterations * moved + tolerance
        left = tolerance
    try:
        found = networkx.pagerank(whole, alpha=alpha, tol=left / size, max_iter=_MOST)
    except networkx.PowerIterationFailedConvergence:
        raise CheckFailed(
            f"NetworkX does not converge in {_MOST} iterations, where the accelerator does"
        ) from None
    expected = np.array([found[vertex] for vertex in range(size)])
    error = float(np.abs(ranks - expected).sum())
    return Verdict(
        source="NetworkX pagerank",
        measure="difference in the 1-norm, of a sum of 1,",
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
    rules: Rules, values: Floats, graph: Any, given: Floats, iterations: int
) -> Verdict:
    """Compares values with so many iterations of label propagation in float64.

    Means of values in 0..1 keep earlier errors as large as they are, and add a rounding for each
    neighbour (the addition) and 2 more (the neighbour's share, its product).
    """
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    expected = np.full(graph.shape[0], 0.5)
    expected[: len(given)] = given
    free = degrees != 0
    free[: len(given)] = False
    for _ in range(iterations):
        means = graph @ expected
        expected[free] = means[free] / degrees[free]
    error = float(np.abs(values - expected).max())
    roundings = int(np.diff(graph.indptr).max()) + 2
    unit = _unit(rules.fmt) + 2.0**-52
    allowed = iterations * roundings * (unit + _least(rules.fmt))
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
    """Computes the residual of a solution in float64. The residual that the iterations carry along
    departs from it by their roundings, of values up to the largest residual, ``peak``."""
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


@dataclass(frozen=True, kw_only=True)
class Application:
    """Application with its input and its problem.

    Parameters
    ----------
    app, what: its name, and in words
    choice: on what
    source: the file, and what is said of it
    problem: it
    """

    app: str
    what: str
    choice: SidaChoice
    source: Source
    problem: Problem


def finish(
    of: Application,
    run: SidaRun,
    values: NDArray[Any],
    rows: list[tuple[str, str]],
    details: dict[str, Any],
    verdict: Verdict | None,
    *,
    moves: str | None,
) -> None:
    """Write the requested files, and report.

    Parameters
    ----------
    values: of each vertex, or row
    rows, details, verdict: see :func:`iteration_report`
    moves: what ends the computation, in words; None: nothing need
    """
    residual = None
    if moves is not None:
        residual = residual_in(of.choice, of.problem, run.solution, moves)
    if of.choice.output:
        write_array(of.choice.output, values[:, None] if is_matrix(of.choice.output) else values)
        rows.append(("values", str(of.choice.output)))
    details = {"file": str(of.source.path), **of.source.details, **details}
    iteration_report(
        of.app,
        f"{of.what} of {of.source.path.name}",
        [(of.source.kind, of.source.text), *rows],
        of.choice,
        outcome_of_problem(of.choice, of.problem, run),
        details,
        verdict=verdict,
        residual=residual,
    ).finish()


def is_matrix(path: Path) -> bool:
    """Tells whether a file holds columns, not vectors."""
    return kind_of(path) in MARKET


def residual_in(choice: SidaChoice, problem: Problem, solution: Solution, what: str) -> Residual:
    """Returns the stop rule's value, called ``what``, after the last iteration that counts."""
    stop, fmt = problem.stop, choice.config.format
    assert stop is not None
    name = stop.reductions[(solution.iterations + 1) % 2]
    pair = np.array([solution.scalars[name], stop.pattern(fmt)], np.uint64)
    value, limit = decode(pair, fmt)
    return Residual(what=what, value=float(value), limit=float(limit))


def numbers_of(choice: SidaChoice, solution: Solution) -> NDArray[Any]:
    return decode(solution.result[:, 0], choice.config.format)
