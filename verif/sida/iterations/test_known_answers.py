"""Graphs whose answers others have published, or SuiteSparse:GraphBLAS computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.io import mmread
from scipy.sparse import csc_array, csr_array
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.numbers.values import decode
from tilewright.sim.sida.iterations.graphs import levels, pagerank, reach, shortest_paths
from tilewright.sim.sida.iterations.problem import solve
from tilewright.sim.sida.result.products import Rules
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.oracles.graphs import vector_product

pytestmark = pytest.mark.quick

RULES = Rules(fmt=FORMATS["fp64"], leaves=4, subtensor=4)
MOST = 500
GRAPHS = ("karate", "A", "ldbc-directed-example", "ldbc-undirected-example", "west0067")

RANKS = {
    "karate": [
        0.0970011147, 0.0528720584, 0.0570750515, 0.0358615175, 0.0219857202, 0.0291233505,
        0.0291233505, 0.0244945048, 0.0297681451, 0.0143104668, 0.0219857202, 0.0095668739,
        0.0146475355, 0.0295415677, 0.0145381625, 0.0145381625, 0.0167900065, 0.0145622041,
        0.0145381625, 0.0196092670, 0.0145381625, 0.0145622041, 0.0145381625, 0.0315206825,
        0.0210719482, 0.0210013837, 0.0150430281, 0.0256382216, 0.0195723309, 0.0262863139,
        0.0245921424, 0.0371606178, 0.0716632142, 0.1008786453,
    ],
    "ldbc-directed-example": [
        0.1697481823, 0.0361514465, 0.1673241104, 0.1669092572, 0.1540948145, 0.0361514465,
        0.0361514465, 0.1153655134, 0.0361514465, 0.0819523364,
    ],
}  # fmt: skip
"""PageRank by MATLAB's ``centrality``, to its tolerance of 1e-4, as the tests of LAGraph have it;
the second graph has vertices that nothing leaves."""


def graph_of(name: str) -> csr_array:
    return csr_array(mmread(data_file(f"matrices/{name}.mtx")), dtype=np.float64)


@needs_data
@pytest.mark.parametrize("name", RANKS)
def test_published_ranks(name: str) -> None:
    graph = graph_of(name)
    graph.data[:] = 1
    ranks = decode(solve(RULES, pagerank(RULES, graph), MOST).result[:, 0], RULES.fmt)
    assert np.abs(ranks - RANKS[name]).max() < 1e-4
    assert abs(ranks.sum() - 1) < 1e-12


def relaxed(graph: csr_array, source: int) -> npt.NDArray[Any]:
    """Lengths of shortest paths, by minplus products until none is shorter."""
    found = np.full(graph.shape[0], np.inf)
    found[source] = 0
    while True:
        reached = np.fmin(found, vector_product("minplus", found, csc_array(graph)))
        if (reached == found).all():
            return found
        found = reached


@needs_data
@pytest.mark.parametrize("name", GRAPHS)
def test_paths_by_graphblas(name: str) -> None:
    graph = abs(graph_of(name))
    steps = graph.copy()
    steps.data[:] = 1
    vertices = graph.shape[0]
    for source in (0, vertices // 2, vertices - 1):
        lengths = solve(RULES, shortest_paths(RULES, graph, source), MOST).result[:, 0]
        assert decode(lengths, RULES.fmt).tolist() == relaxed(graph, source).tolist()
        reached = levels(RULES, solve(RULES, reach(RULES, graph, [source]), MOST))
        expected = relaxed(steps, source)
        assert reached.tolist() == np.where(np.isinf(expected), -1, expected).tolist()
