"""Label propagation and conjugate gradients in passes of two iterations, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import cg
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.numbers.values import decode
from tilewright.sim.sida.iterations.graphs import undirected
from tilewright.sim.sida.iterations.linear import labels, pipelined_gradients
from tilewright.sim.sida.iterations.problem import Solution, solve
from tilewright.sim.sida.iterations.programs import PIPELINED
from tilewright.sim.sida.result.products import Rules
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import cases
from tilewright.verif.sida.iterations.solving import random_graph

DOUBLE = Rules(fmt=FORMATS["fp64"], leaves=4, subtensor=4)


def definite(seed: int, size: int = 50) -> Any:
    """Symmetric, with a strong diagonal."""
    graph = random_graph(seed, size)
    both = csr_array(graph + graph.T)
    return csr_array(both + (1 + both.sum(axis=1).max()) * eye_array(size))


def values(found: Solution) -> Any:
    return decode(found.result[:, 0], DOUBLE.fmt)


def test_every_iterate_is_scipys() -> None:
    """The number of iterations is arbitrary; the last one may be either product of a pass."""
    for seed in range(max(2, cases(6))):
        matrix = definite(seed)
        b = np.random.default_rng(seed).normal(size=50)
        problem = pipelined_gradients(DOUBLE, matrix, b, tolerance=1e-10)
        iterates: list[Any] = []
        cg(matrix, b, rtol=1e-10, callback=lambda x, kept=iterates: kept.append(x.copy()))
        for count in (1, 2, 3, len(iterates)):
            found = solve(DOUBLE, problem, count)
            assert np.abs(values(found) - iterates[count - 1]).max() < 1e-12
        found = solve(DOUBLE, problem, 200)
        assert found.settled
        assert abs(found.iterations - len(iterates)) <= 1
        assert found.passes == -(-found.iterations // 2)


def test_a_program_of_any_accelerator_by_default() -> None:
    assert PIPELINED.words <= 64


def test_labels_are_means() -> None:
    for seed in range(max(2, cases(6))):
        graph = undirected(random_graph(seed, 40))
        found = solve(DOUBLE, labels(DOUBLE, graph, [0, 1, 1], tolerance=1e-12), 10_000)
        assert found.settled
        got, degrees = values(found), graph.sum(axis=1)
        free = np.flatnonzero(degrees > 0)
        free = free[free >= 3]
        assert np.abs((graph @ got)[free] / degrees[free] - got[free]).max() < 1e-10
        assert got[:3].tolist() == [0, 1, 1]
        assert (got[3:][degrees[3:] == 0] == 0.5).all()


def test_refusals() -> None:
    graph = undirected(random_graph(1, 10, density=0.3))
    said = refusal(lambda: labels(DOUBLE, graph, np.zeros(11), tolerance=1))
    assert said == "`given` must be at most 10 values, not 11"
    said = refusal(lambda: labels(DOUBLE, -graph, [1], tolerance=1))
    assert said == "`graph` must have positive weights, not -1"
    lopsided = csr_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(3, 3))
    said = refusal(lambda: labels(DOUBLE, lopsided, [1], tolerance=1))
    assert said == "`graph` must be symmetric"
    said = refusal(lambda: pipelined_gradients(DOUBLE, lopsided, np.ones(3), tolerance=1))
    assert said == "`matrix` must be symmetric"
    said = refusal(lambda: pipelined_gradients(DOUBLE, graph, np.zeros(10), tolerance=1))
    assert said == "`right` must not be 0"


@pytest.mark.parametrize("tolerance", [1e-6, 1e-200, 0])
@pytest.mark.parametrize("value", ["fp32", "fp64"])
def test_a_solution_that_is_there_at_once(value: str, tolerance: float) -> None:
    """The method takes one step for any tolerance, and later results do not count."""
    rules = Rules(fmt=FORMATS[value], leaves=4, subtensor=4)
    problem = pipelined_gradients(rules, 2.0 * eye_array(5), np.ones(5), tolerance=tolerance)
    found = solve(rules, problem, 9)
    assert (found.iterations, found.wasted, found.settled) == (1, 1, True)
    assert (decode(found.result, rules.fmt) == 0.5).all()
