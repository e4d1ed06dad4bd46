"""Computations on graphs in passes of two iterations, against NetworkX and SciPy, and against one
iteration at a time.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import networkx
import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from tilewright.hw.spec.elementwise.assembler import AssemblyError
from tilewright.hw.spec.elementwise.program import Program
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.numbers.values import decode
from tilewright.sim.sida.images import program_words
from tilewright.sim.sida.iterations.convolutions import (
    GIVEN,
    GRAPH,
    WEIGHTS,
    Block,
    Convolutions,
    block_in,
    convolutions,
    output_names,
)
from tilewright.sim.sida.iterations.graphs import (
    core_numbers,
    coreness,
    levels,
    pagerank,
    reach,
    shortest_paths,
    undirected,
)
from tilewright.sim.sida.iterations.jobs import Machine, ModelMachine, together
from tilewright.sim.sida.iterations.problem import Problem, Solution, solve
from tilewright.sim.sida.model import SidaModel
from tilewright.sim.sida.result.elementwise import begin, run
from tilewright.sim.sida.result.products import Rules, output_stationary
from tilewright.sim.sida.sequence_driver import SequenceDriver
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import by_size, cases
from tilewright.verif.sida.configs import small
from tilewright.verif.sida.iterations.solving import random_graph

DOUBLE = Rules(fmt=FORMATS["fp64"], leaves=4, subtensor=3)
MOST = 500


def ranks_of(graph: csr_array, tolerance: float = 1e-6) -> Any:
    whole = networkx.from_scipy_sparse_array(graph, create_using=networkx.DiGraph)
    found = networkx.pagerank(whole, alpha=0.85, tol=tolerance / graph.shape[0], max_iter=MOST)
    return np.array([found[vertex] for vertex in range(graph.shape[0])])


def one_at_a_time(rules: Rules, problem: Problem, most: int) -> tuple[Any, int]:
    """Result and iterations with one product and one part of the program after the other, each
    product in the order of the first one of a pass."""
    program, x = problem.program, problem.x
    scalars = begin(program, rules.fmt, problem.scalars)
    names = [one.name for one in program.scalars]
    places = {name: number for number, name in enumerate(program.vectors)}
    vectors = {places[name]: values for name, values in problem.vectors.items()}
    for done in range(most):
        y = output_stationary(rules, problem.semiring, problem.matrix, x)
        half = done % 2
        left = run(rules, program, ("e1", "e2")[half], y, scalars, vectors)
        x, vectors = left.result, vectors | left.vectors
        for number, pattern in left.reductions.items():
            scalars[number] = pattern
        assert problem.stop is not None
        value = scalars[names.index(problem.stop.reductions[half])]
        pair = np.array([value, problem.stop.pattern(rules.fmt)], np.uint64)
        if np.less(*decode(pair, rules.fmt)):
            return x, done + 1
    return x, most


def problems(graph: csr_array) -> dict[str, Problem]:
    return {
        "pagerank": pagerank(DOUBLE, graph),
        "reach": reach(DOUBLE, graph, [0]),
        "paths": shortest_paths(DOUBLE, graph, 0),
        "core": coreness(DOUBLE, undirected(graph)),
    }


@pytest.mark.parametrize("name", ["pagerank", "reach", "paths", "core"])
def test_two_iterations_a_pass_are_two_iterations(name: str) -> None:
    """The number of iterations and the values are the same. Sums in another order may differ in
    their last places."""
    odd = even = 0
    for seed in range(max(3, cases(12))):
        problem = problems(random_graph(seed, size=5 + 6 * seed))[name]
        found = solve(DOUBLE, problem, MOST)
        expected, iterations = one_at_a_time(DOUBLE, problem, MOST)
        assert (found.iterations, found.settled) == (iterations, True)
        assert found.passes == -(-iterations // 2)
        assert found.wasted == iterations % 2
        odd, even = odd + iterations % 2, even + 1 - iterations % 2
        one, other = (decode(values, DOUBLE.fmt) for values in (found.result, expected))
        if name == "pagerank":
            np.testing.assert_allclose(one, other, rtol=1e-13)
        else:
            assert (one == other).all()
    assert odd


def test_ranks() -> None:
    for seed in range(max(2, cases(8))):
        graph = random_graph(seed)
        found = solve(DOUBLE, pagerank(DOUBLE, graph), MOST)
        np.testing.assert_allclose(
            decode(found.result[:, 0], DOUBLE.fmt), ranks_of(graph), rtol=1e-12
        )


@pytest.mark.parametrize("value", ["fp32", "fp64", "int32"])
def test_steps(value: str) -> None:
    rules = replace(DOUBLE, fmt=FORMATS[value])
    for seed in range(max(2, cases(8))):
        graph = random_graph(seed)
        found = levels(rules, solve(rules, reach(rules, graph, [seed, 7]), MOST))
        lengths = dijkstra(graph, unweighted=True, indices=[seed, 7]).min(axis=0)
        assert (found == np.where(np.isinf(lengths), -1, lengths)).all()


def test_steps_that_are_limited() -> None:
    """The solver finds the vertices within k hops in k steps, and does not settle."""
    graph = random_graph(3)
    lengths = dijkstra(graph, unweighted=True, indices=0)
    for most in range(1, 6):
        found = solve(DOUBLE, replace(reach(DOUBLE, graph, [0]), stop=None), most)
        assert (found.iterations, found.settled) == (most, False)
        assert ((decode(found.result[:, 0], DOUBLE.fmt) != 0) == (lengths <= most)).all()


@pytest.mark.parametrize("value", ["fp32", "fp64", "int32"])
def test_lengths(value: str) -> None:
    rules = replace(DOUBLE, fmt=FORMATS[value])
    for seed in range(max(2, cases(8))):
        graph = random_graph(seed)
        found = decode(solve(rules, shortest_paths(rules, graph, 1), MOST).result[:, 0], rules.fmt)
        lengths = dijkstra(graph, indices=1)
        nowhere = 2**31 - 1 if value == "int32" else np.inf
        assert (found == np.where(np.isinf(lengths), nowhere, lengths)).all()


def test_cores() -> None:
    for seed in range(max(2, cases(8))):
        graph = undirected(random_graph(seed, density=0.1))
        expected = networkx.core_number(networkx.from_scipy_sparse_array(graph))
        found = core_numbers(DOUBLE, solve(DOUBLE, coreness(DOUBLE, graph), MOST))
        assert found.tolist() == [expected[vertex] for vertex in range(graph.shape[0])]


@needs_data
def test_known_graphs() -> None:
    """Zachary's karate club: its ranks, its cores, the steps from vertex 1."""
    graph = csr_array(mmread(data_file("matrices/karate.mtx")))
    graph.data = np.ones(graph.nnz)
    club = networkx.karate_club_graph()
    for source, expected in (("ranks", None), ("cores", networkx.core_number(club))):
        if source == "ranks":
            found: Solution = solve(DOUBLE, pagerank(DOUBLE, graph), MOST)
            ranks = decode(found.result[:, 0], DOUBLE.fmt)
            np.testing.assert_allclose(ranks, ranks_of(graph), rtol=1e-12)
        else:
            assert expected is not None
            cores = core_numbers(DOUBLE, solve(DOUBLE, coreness(DOUBLE, undirected(graph)), MOST))
            assert cores.tolist() == [expected[vertex] for vertex in range(34)]
    steps = levels(DOUBLE, solve(DOUBLE, reach(DOUBLE, graph, [0]), MOST))
    lengths = networkx.single_source_shortest_path_length(club, 0)
    assert steps.tolist() == [lengths[vertex] for vertex in range(34)]


def test_refusals() -> None:
    graph = random_graph(1)
    graph.data[0] = -1
    for make in (lambda: pagerank(DOUBLE, graph), lambda: shortest_paths(DOUBLE, graph, 0)):
        with pytest.raises(ValueError, match=r"^`graph` must have no negative weights, not -1$"):
            make()
    with pytest.raises(ValueError, match=r"^`most` must be at least 1, not 0$"):
        solve(DOUBLE, reach(DOUBLE, random_graph(1), [0]), 0)


# Graph convolutions as sequences of jobs, against SciPy and on the model of the device.

DOUBLE_CONVOLUTIONS = Rules(fmt=FORMATS["fp64"], leaves=4, subtensor=4)

WIDTHS = [(1, 1), (3, 2), (9, 5, 3), (17, 4, 6, 1), (8, 16)]
"""Columns of each layer: blocks that are whole and that are not, products alone and in pairs."""


def words_of(program: Program) -> int:
    """Returns the program's words in memory, without an empty second part."""
    return len(program_words(program, second=bool(program.e2))[0])


def drawn(seed: int, size: int, widths: tuple[int, ...]) -> tuple[Any, Any, list[Any]]:
    """Draws a directed graph, features of which half are zeros, and weights."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=pair) for pair in pairwise(widths)]
    graph = csr_array(random_graph(seed, size, density=0.1))
    given = rng.normal(size=(size, widths[0]))
    return graph, given * (rng.random(given.shape) < 0.5), weights


def scipys(graph: Any, given: Any, weights: list[Any]) -> Any:
    found = given
    for number, one in enumerate(weights, 1):
        found = graph @ (found @ one)
        if number < len(weights):
            found = np.maximum(found, 0)
    return found


def result(network: Convolutions, machine: Machine) -> Any:
    names = output_names(len(network.weights), network.weights[-1].shape[1])
    return np.stack([decode(machine.vector(name)[:, 0], machine.fmt) for name in names], axis=1)


@pytest.mark.parametrize("widths", WIDTHS)
def test_layers_are_scipys(widths: tuple[int, ...]) -> None:
    for seed in range(by_size(1, 2, 20)):
        graph, given, weights = drawn(seed, 30, widths)
        expected = scipys(graph, given, weights)
        for words, over_matrix in ((16, True), (32, False), (64, False)):
            network = convolutions(
                DOUBLE_CONVOLUTIONS, graph, given, weights, words=words, over_matrix=over_matrix
            )
            assert max(map(words_of, network.setup.programs.values())) <= words
            machine = ModelMachine(DOUBLE_CONVOLUTIONS, network.setup)
            found = network.compute(machine)
            products = sum(widths[1:]) + over_matrix * widths[1]
            assert (found.iterations, found.settled) == (products, True)
            assert found.result == f"layer {len(weights)} 0"
            error = np.abs(result(network, machine) - expected).max()
            assert error <= 1e-12 * np.abs(expected).max()
        assert np.abs(expected).max() > 0


@pytest.mark.parametrize("value", ["fp32", "fp16"])
def test_jobs_on_the_model_of_the_device(value: str) -> None:
    """All vectors, bit for bit; two products a pass, unless one is left; weights in blocks."""
    config = replace(small(), value=value)
    rules = Rules.of(config)
    graph, given, weights = drawn(5, 40, (9, 5, 4))
    network = convolutions(rules, graph, given, weights, words=config.program_words)
    model = ModelMachine(rules, network.setup)
    driver = SequenceDriver(SidaModel(config, 1 << 17), network.setup)
    assert network.compute(model) == network.compute(driver)
    for name in network.setup.vectors:
        assert (driver.vector(name) == model.vector(name)).all()
    passes = [job for job, _ in driver.jobs if job.matrix]
    assert [job.second for job in passes] == [True, True, False, True, True]
    block = network.block
    blocks = [
        -(-come // block.inputs) * -(-leave // block.outputs) for come, leave in ((9, 5), (5, 4))
    ]
    assert len(driver.jobs) - len(passes) == sum(blocks)
    assert {job.matrix for job in passes} == {GRAPH}
    elements = sum(counts["elements"] for _, counts in driver.jobs)
    assert elements == 5 * len(network.setup.matrices[GRAPH].rows) == 5 * graph.nnz


def test_what_is_given_is_a_matrix() -> None:
    """The elements of the features are read once for two columns of weights."""
    config = small()
    rules = Rules.of(config)
    graph, given, weights = drawn(6, 40, (40, 5, 2))
    network = convolutions(rules, graph, given, weights, over_matrix=True)
    model = ModelMachine(rules, network.setup)
    driver = SequenceDriver(SidaModel(config, 1 << 17), network.setup)
    assert network.compute(model) == network.compute(driver)
    for name in network.setup.vectors:
        assert (driver.vector(name) == model.vector(name)).all()
    assert [(job.matrix, job.second) for job, _ in driver.jobs] == [
        (GIVEN, True), (GIVEN, True), (GIVEN, False), (GRAPH, True), (GRAPH, True), (GRAPH, False),
        (None, False), (GRAPH, True),
    ]  # fmt: skip
    read = [counts["elements"] for _, counts in driver.jobs]
    elements = np.count_nonzero(given)
    assert 0 < elements < given.size
    assert read == 3 * [elements] + 3 * [graph.nnz] + [0, graph.nnz]


def test_blocks_are_what_fits() -> None:
    """A block's words are those of its program; none that moves less fits."""
    sizes = range(1, 16)
    every = [Block(inputs, outputs) for inputs in sizes for outputs in sizes]
    fitting = [block for block in every if block.fits]
    for block in fitting[:: by_size(9, 3, 1)]:
        for one in (block, replace(block, first=True)):
            [program] = together(WEIGHTS, {one.name: one.text()}).values()
            assert words_of(program) == one.words
    for block in set(every) - set(fitting):
        with pytest.raises(AssemblyError):
            together(WEIGHTS, {block.name: block.text()})
    assert (block_in(64).inputs, block_in(64).outputs) == (8, 4)
    for words in (8, 16, 32, 1024):
        best = block_in(words)
        assert best.words <= words
        less = [block for block in fitting if block.moved < best.moved]
        assert [block for block in less if block.words <= words] == []


def test_convolutions_refusals() -> None:
    graph, given, weights = drawn(1, 20, (4, 3, 2))
    said = refusal(
        lambda: convolutions(DOUBLE_CONVOLUTIONS, graph, given, [weights[0], weights[0]])
    )
    assert said == "`weights` of layer 2 must have 3 rows, not 4"
    wide = np.ones((20, 21))
    said = refusal(
        lambda: convolutions(
            DOUBLE_CONVOLUTIONS, graph, wide, [np.ones((21, 3)), weights[1]], over_matrix=True
        )
    )
    assert said == "`given` must have at most 20 columns, not 21"
    said = refusal(lambda: convolutions(DOUBLE_CONVOLUTIONS, graph, given[1:], weights))
    assert said == "`matrices` must have 19 rows, not 20 as graph"
