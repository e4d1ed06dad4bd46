"""Conjugate gradients as a sequence of jobs, against SciPy, iterate by iterate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import cg
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.numbers.values import decode
from tilewright.sim.sida.iterations.conjugate import PROGRAMS, conjugate_gradients
from tilewright.sim.sida.iterations.jobs import Found, ModelMachine, together
from tilewright.sim.sida.result.products import Rules
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.kit.sampling import cases
from tilewright.verif.sida.iterations.random_graphs import random_graph

DOUBLE = Rules(fmt=FORMATS["fp64"], leaves=4, subtensor=4)


def solved(rules: Rules, matrix: Any, b: Any, tolerance: float, most: int) -> tuple[Found, Any]:
    """What is found, and the solution."""
    method = conjugate_gradients(rules, matrix, b, tolerance=tolerance)
    machine = ModelMachine(rules, method.setup)
    found = method.solve(machine, most)
    return found, decode(machine.vector(found.result)[:, 0], rules.fmt)


def scipys(matrix: Any, b: Any, tolerance: float) -> list[Any]:
    """All iterates."""
    iterates: list[Any] = []
    _, failed = cg(matrix, b, rtol=tolerance, atol=0, callback=lambda x: iterates.append(x.copy()))
    assert not failed
    return iterates


def definite(seed: int, size: int = 50) -> Any:
    """Symmetric, with a diagonal that is as strong as the rest."""
    graph = random_graph(seed, size)
    both = csr_array(graph + graph.T)
    return csr_array(both + (1 + both.sum(axis=1).max()) * eye_array(size))


def test_every_iterate_is_scipys() -> None:
    for seed in range(max(2, cases(6))):
        matrix = definite(seed)
        b = np.random.default_rng(seed).normal(size=50)
        iterates = scipys(matrix, b, 1e-10)
        for count in (1, 2, 3, len(iterates)):
            found, x = solved(DOUBLE, matrix, b, 1e-10, count)
            assert found.iterations == count
            assert np.abs(x - iterates[count - 1]).max() < 1e-14
            assert len(found.residuals) == count + 1
            left = np.linalg.norm(b - matrix @ x)
            assert found.residuals[-1] == pytest.approx(left, rel=1e-3, abs=1e-13)
        found, _ = solved(DOUBLE, matrix, b, 1e-10, 200)
        assert found.settled
        assert abs(found.iterations - len(iterates)) <= 1


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
    """No step leads further: said, and what is reached is kept."""
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
