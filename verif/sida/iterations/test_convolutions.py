"""Graph convolutions as sequences of jobs, against SciPy and on the model of the device."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
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
from tilewright.sim.sida.iterations.jobs import Machine, ModelMachine, together
from tilewright.sim.sida.model import SidaModel
from tilewright.sim.sida.result.products import Rules
from tilewright.sim.sida.sequence_driver import SequenceDriver
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.sida.configs import small
from tilewright.verif.sida.iterations.random_graphs import random_graph

DOUBLE = Rules(fmt=FORMATS["fp64"], leaves=4, subtensor=4)

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
                DOUBLE, graph, given, weights, words=words, over_matrix=over_matrix
            )
            assert max(map(words_of, network.setup.programs.values())) <= words
            machine = ModelMachine(DOUBLE, network.setup)
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


def test_refusals() -> None:
    graph, given, weights = drawn(1, 20, (4, 3, 2))
    said = refusal(lambda: convolutions(DOUBLE, graph, given, [weights[0], weights[0]]))
    assert said == "`weights` of layer 2 must have 3 rows, not 4"
    wide = np.ones((20, 21))
    said = refusal(
        lambda: convolutions(DOUBLE, graph, wide, [np.ones((21, 3)), weights[1]], over_matrix=True)
    )
    assert said == "`given` must have at most 20 columns, not 21"
    said = refusal(lambda: convolutions(DOUBLE, graph, given[1:], weights))
    assert said == "`matrices` must have 19 rows, not 20 as graph"
