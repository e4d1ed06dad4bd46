"""Stabilised biconjugate gradients as a sequence of jobs, against SciPy, iterate by iterate."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import bicgstab
from tilewright.sim.sida.iterations.biconjugate import PROGRAMS, biconjugate_gradients
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.sida.iterations.solving import (
    DOUBLE,
    check_every_iterate,
    random_graph,
    scipys_iterates,
    solved_by,
)

solved = partial(solved_by, biconjugate_gradients)
scipys = partial(scipys_iterates, bicgstab)


def lopsided(seed: int, size: int = 50) -> Any:
    """Draws an asymmetric matrix with a dominant diagonal."""
    graph = random_graph(seed, size)
    return csr_array(graph + (2 + graph.sum(axis=1).max()) * eye_array(size))


def test_every_iterate_is_scipys() -> None:
    check_every_iterate(biconjugate_gradients, bicgstab, lopsided, 1e-12)


def test_a_half_step_that_is_enough() -> None:
    """The first half step gives the solution for a multiple of the identity."""
    found, x = solved(DOUBLE, 4.0 * eye_array(5), np.arange(1.0, 6.0), 1e-6, 9)
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
    iterates = scipys(matrix, b, 1e-6)
    found, x = solved(DOUBLE, matrix, b, 1e-6, 200)
    assert found.settled
    assert abs(found.iterations - len(iterates)) <= 1
    assert np.linalg.norm(b - matrix @ x) < 1.01e-6 * np.linalg.norm(b)


def test_programs_of_any_accelerator_by_default() -> None:
    assert max(program.words for program in PROGRAMS.values()) <= 64


def test_what_breaks_down() -> None:
    """No further step is possible: the method reports this and keeps its last iterate."""
    turn = csr_array([[0.0, 1.0], [-1.0, 0.0]])
    found, x = solved(DOUBLE, turn, np.ones(2), 1e-6, 9)
    assert (found.iterations, found.settled) == (0, False)
    assert found.why == "the shadow times the direction's image is 0"
    assert not x.any()


def test_refusals() -> None:
    def said(matrix: Any, b: Any) -> str:
        return refusal(lambda: biconjugate_gradients(DOUBLE, matrix, b, tolerance=1))

    assert said(eye_array(3), np.zeros(3)) == "`right` must not be 0"
    assert said(eye_array(3), np.ones(4)) == "`matrices` must have 4 rows, not 3 as matrix"
