"""Conjugate gradients, plain and stabilised, as sequences of jobs, against SciPy by iterate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import bicgstab, cg
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.sida.iterations.biconjugate import PROGRAMS as STABILISED
from tilewright.sim.sida.iterations.biconjugate import biconjugate_gradients
from tilewright.sim.sida.iterations.conjugate import PROGRAMS, conjugate_gradients
from tilewright.sim.sida.iterations.jobs import ModelMachine, together
from tilewright.sim.sida.result.products import Rules
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.sida.iterations.solving import (
    DOUBLE,
    check_every_iterate,
    random_graph,
    scipys_iterates,
    solved_by,
)

solved = partial(solved_by, conjugate_gradients)
scipys = partial(scipys_iterates, cg)


def definite(seed: int, size: int = 50) -> Any:
    """Symmetric, with a diagonal that is as strong as the rest."""
    graph = random_graph(seed, size)
    both = csr_array(graph + graph.T)
    return csr_array(both + (1 + both.sum(axis=1).max()) * eye_array(size))


def test_every_iterate_is_scipys() -> None:
    check_every_iterate(conjugate_gradients, cg, definite, 2e-13)


@needs_data
def test_a_matrix_that_is_badly_conditioned() -> None:
    """The iterates drift apart by roundings, but not their number."""
    matrix = csr_array(mmread(data_file("matrices/LFAT5.mtx")))
    b = np.ones(14)
    iterates = scipys(matrix, b, 1e-5)
    found, x = solved(DOUBLE, matrix, b, 1e-5, 140)
    assert found.settled
    assert abs(found.iterations - len(iterates)) <= 1
    assert np.linalg.norm(b - matrix @ x) < 2e-5 * np.linalg.norm(b)
    for count in (1, 2, 3):
        _, x = solved(DOUBLE, matrix, b, 1e-5, count)
        assert np.abs(x - iterates[count - 1]).max() < 1e-12 * np.abs(iterates[count - 1]).max()


def test_programs_of_any_accelerator_by_default() -> None:
    assert max(program.words for program in PROGRAMS.values()) <= 64


@pytest.mark.parametrize("value", ["fp32", "fp64"])
def test_a_solution_that_is_there_at_once(value: str) -> None:
    rules = Rules(fmt=FORMATS[value], leaves=4, subtensor=4)
    found, x = solved(rules, 2.0 * eye_array(5), np.ones(5), 1e-6, 9)
    assert (found.iterations, found.settled, found.residuals[-1]) == (1, True, 0.0)
    assert (x == 0.5).all()


def test_a_direction_whose_image_is_orthogonal() -> None:
    """No further step is possible: the method reports this and keeps its last iterate."""
    found, x = solved(DOUBLE, csr_array([[1.0, 0], [0, -1]]), np.ones(2), 1e-6, 9)
    assert (found.iterations, found.settled) == (0, False)
    assert found.why == "the direction times its image is 0"
    assert not x.any()


def test_refusals() -> None:
    def said(matrix: Any, b: Any) -> str:
        return refusal(lambda: conjugate_gradients(DOUBLE, matrix, b, tolerance=1))

    lopsided = csr_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(3, 3))
    assert said(lopsided, np.ones(3)) == "`matrix` must be symmetric"
    assert said(eye_array(3), np.zeros(3)) == "`right` must not be 0"
    assert said(eye_array(3), np.ones(4)) == "`matrices` must have 4 rows, not 3 as matrix"
    method = conjugate_gradients(DOUBLE, eye_array(3), np.ones(3), tolerance=1)
    machine = ModelMachine(DOUBLE, method.setup)
    assert refusal(lambda: method.solve(machine, 0)) == "`most` must be at least 1, not 0"
    other = together("scalar s", {"other": "e1:\n out y"})
    assert refusal(lambda: replace(method.setup, programs={**PROGRAMS, **other})) == (
        "`programs` must have the same scalars, not others as other"
    )


solved_stabilised = partial(solved_by, biconjugate_gradients)
scipys_stabilised = partial(scipys_iterates, bicgstab)


def lopsided(seed: int, size: int = 50) -> Any:
    """Draws an asymmetric matrix with a dominant diagonal."""
    graph = random_graph(seed, size)
    return csr_array(graph + (2 + graph.sum(axis=1).max()) * eye_array(size))


def test_every_iterate_is_scipys_stabilised() -> None:
    check_every_iterate(biconjugate_gradients, bicgstab, lopsided, 1e-12)


def test_a_half_step_that_is_enough() -> None:
    """The first half step gives the solution for a multiple of the identity."""
    found, x = solved_stabilised(DOUBLE, 4.0 * eye_array(5), np.arange(1.0, 6.0), 1e-6, 9)
    assert (found.iterations, found.settled, found.residuals[-1]) == (1, True, 0.0)
    assert x.tolist() == [0.25, 0.5, 0.75, 1.0, 1.25]


@needs_data
@pytest.mark.parametrize("name", ["olm1000", "LFAT5"])
def test_matrices_that_are_found(name: str) -> None:
    """A diagonal is added so that roundings do not decide. The number of iterations is SciPy's."""
    raw = csr_array(mmread(data_file(f"matrices/{name}.mtx")))
    sums = np.asarray(np.abs(raw).sum(axis=1)).ravel()
    matrix = csr_array(diags_array(1 / sums) @ raw + 2 * eye_array(raw.shape[0]))
    b = np.ones(raw.shape[0])
    iterates = scipys_stabilised(matrix, b, 1e-6)
    found, x = solved_stabilised(DOUBLE, matrix, b, 1e-6, 200)
    assert found.settled
    assert abs(found.iterations - len(iterates)) <= 1
    assert np.linalg.norm(b - matrix @ x) < 1.01e-6 * np.linalg.norm(b)


def test_programs_of_any_accelerator_by_default_stabilised() -> None:
    assert max(program.words for program in STABILISED.values()) <= 64


def test_what_breaks_down() -> None:
    """No further step is possible: the method reports this and keeps its last iterate."""
    turn = csr_array([[0.0, 1.0], [-1.0, 0.0]])
    found, x = solved_stabilised(DOUBLE, turn, np.ones(2), 1e-6, 9)
    assert (found.iterations, found.settled) == (0, False)
    assert found.why == "the shadow times the direction's image is 0"
    assert not x.any()


def test_refusals_stabilised() -> None:
    def said(matrix: Any, b: Any) -> str:
        return refusal(lambda: biconjugate_gradients(DOUBLE, matrix, b, tolerance=1))

    assert said(eye_array(3), np.zeros(3)) == "`right` must not be 0"
    assert said(eye_array(3), np.ones(4)) == "`matrices` must have 4 rows, not 3 as matrix"
