"""Generalised minimal residuals as a sequence of jobs, against SciPy, residual by residual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import gmres
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.numbers.values import decode
from tilewright.sim.sida.iterations.jobs import Found, Job, ModelMachine
from tilewright.sim.sida.iterations.minimal_residuals import basis_name, minimal_residuals
from tilewright.sim.sida.iterations.programs import krylov_programs, most_at_once
from tilewright.sim.sida.result.products import Rules
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.sida.iterations.solving import DOUBLE, random_graph

FOUND = {
    "restarted": ("LFAT5", 10, 5e-9),
    "all of it": ("LFAT5", 20, 5e-9),
    "not converged": ("west0067", 20, 1e-12),
    "symmetric": ("karate", 20, 1e-12),
    "many vectors": ("west0067", 67, 1e-9),
}
"""Files, iterations of a cycle, by how much the first ten residuals may differ from SciPy's."""


class Watched(ModelMachine):
    """The golden model, with a record of its jobs."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.jobs: list[Job] = []

    def run(self, job: Job) -> None:
        self.jobs.append(job)
        super().run(job)


def solved(
    rules: Rules, matrix: Any, b: Any, tolerance: float, most: int, **options: int
) -> tuple[Found, Any, Watched]:
    """Returns the record, the solution and the machine."""
    method = minimal_residuals(rules, matrix, b, tolerance=tolerance, **options)
    machine = Watched(rules, method.setup)
    found = method.solve(machine, most)
    return found, decode(machine.vector(found.result)[:, 0], rules.fmt), machine


def scipys(matrix: Any, b: Any, tolerance: float, restart: int, cycles: int = 1000) -> Any:
    """Returns the solution, and the residuals after each iteration."""
    residuals: list[float] = []
    x, _ = gmres(
        matrix, b, rtol=tolerance, restart=restart, maxiter=cycles,
        callback=residuals.append, callback_type="pr_norm",
    )  # fmt: skip
    return x, np.array(residuals) * np.linalg.norm(b)


def lopsided(seed: int, size: int = 50) -> Any:
    """Draws an asymmetric matrix whose diagonal is about as strong as the rest."""
    graph = random_graph(seed, size)
    return csr_array(graph + 0.8 * graph.sum(axis=1).max() * eye_array(size))


@pytest.mark.parametrize("restart", [1, 2, 5, 20])
def test_every_residual_is_scipys(restart: int) -> None:
    """The number of iterations is SciPy's, and so is the solution after each cycle, whether the
    last pass of a cycle has one product or two."""
    for seed in range(max(2, cases(12))):
        matrix = lopsided(seed)
        b = np.random.default_rng(seed).normal(size=50)
        size = np.linalg.norm(b)
        x, residuals = scipys(matrix, b, 1e-9, restart)
        found, ours, machine = solved(DOUBLE, matrix, b, 1e-9, 500, restart=restart)
        assert (found.settled, found.why) == (True, "")
        assert found.iterations == len(residuals)
        assert found.residuals[0] == size
        assert np.abs(np.array(found.residuals[1:]) - residuals).max() < 1e-13 * size
        assert np.abs(ours - x).max() < 1e-12 * np.abs(x).max()
        left = np.linalg.norm(b - matrix @ ours)
        assert found.residuals[-1] == pytest.approx(left, rel=1e-4)
        passes = [job for job in machine.jobs if job.matrix is not None]
        cycles = sum(job.program == "residual" for job in passes)
        twice = sum(job.second for job in passes)
        assert twice + len(passes) == found.iterations + found.wasted + cycles
        assert cycles == -(-found.iterations // restart)
        # The shift keeps what is left of an image far from what the image is.
        assert found.wasted <= 1
        for count in (1, 2, 3, 7):
            found, ours, _ = solved(DOUBLE, matrix, b, 1e-9, count, restart=restart)
            assert (found.iterations, found.settled) == (count, False)
            if count % restart == 0:
                x, _ = scipys(matrix, b, 1e-9, restart, count // restart)
                assert np.abs(ours - x).max() < 1e-13 * np.abs(x).max()


@pytest.mark.parametrize("words", [32, 64, 128])
def test_program_memories(words: int) -> None:
    """Programs fit; how many vectors a job goes over changes roundings alone."""
    assert most_at_once(words) == {32: 2, 64: 6, 128: 14}[words]
    assert max(one.words for one in krylov_programs(most_at_once(words)).values()) <= words
    assert most_at_once(8) == 1
    matrix, b = lopsided(5), np.ones(50)
    _, residuals = scipys(matrix, b, 1e-9, 17)
    found, _, machine = solved(DOUBLE, matrix, b, 1e-9, 99, restart=17, words=words)
    assert found.iterations == len(residuals)
    assert np.abs(np.array(found.residuals[1:]) - residuals).max() < 1e-12
    # The last pass begins with 13 vectors.
    most = max(int(job.program.split()[-1]) for job in machine.jobs if "clean" in job.program)
    assert (found.iterations, most) == (13, min(most_at_once(words), 13))


@pytest.mark.parametrize(("value", "bound"), [("fp64", 1e-14), ("fp32", 1e-5), ("fp16", 0.05)])
def test_the_basis_is_orthonormal(value: str, bound: float) -> None:
    """The matrix maps vectors almost to multiples of themselves. Residuals equal SciPy's within the
    precision of the format."""
    rng = np.random.default_rng(3)
    matrix = csr_array(100 * eye_array(40) + 0.1 * rng.normal(size=(40, 40)))
    rules = Rules(fmt=FORMATS[value], leaves=4, subtensor=4)
    b = rng.normal(size=40)
    solution, _, machine = solved(rules, matrix, b, 0, 12, restart=12)
    _, residuals = scipys(matrix, b, 0, 12, 1)
    ours = np.array(solution.residuals[1:13])
    assert np.abs(ours - residuals[: len(ours)]).max() < bound * np.linalg.norm(b)
    found = [decode(machine.vector(basis_name(number))[:, 0], rules.fmt) for number in range(12)]
    basis = np.array(found, np.float64)
    assert np.abs(basis @ basis.T - np.eye(12)).max() < bound


def test_an_image_with_little_that_is_new() -> None:
    """The next image would consist of rounding errors. The second product is not used, and the
    first ones are as good as SciPy's."""
    matrix = csr_array(diags_array([1.0, 1, 1, 1, 1e6, 2e6], shape=(6, 6)))
    matrix = csr_array(matrix + diags_array([1e-3], offsets=[1], shape=(6, 6)))
    b = np.array([1.0, 2, 3, 4, 1e-7, 1e-7])
    found, x, _ = solved(DOUBLE, matrix, b, 1e-10, 60)
    _, residuals = scipys(matrix, b, 1e-10, 6)
    assert found.settled
    assert found.wasted > 1
    assert abs(found.iterations - len(residuals)) <= 1
    assert np.linalg.norm(b - matrix @ x) < 1.01e-10 * np.linalg.norm(b)


@needs_data
@pytest.mark.parametrize("case", slow_but(["restarted"], FOUND))
def test_matrices_that_are_found(case: str) -> None:
    """The method converges where SciPy's does. After a restart the residuals of LFAT5 are rounding
    errors."""
    name, restart, bound = FOUND[case]
    matrix = csr_array(mmread(data_file(f"matrices/{name}.mtx")), dtype=np.float64)
    b = np.ones(matrix.shape[0])
    x, residuals = scipys(matrix, b, 1e-5, restart, 80 // restart + 1)
    found, ours, _ = solved(DOUBLE, matrix, b, 1e-5, 67, restart=restart)
    assert np.abs(np.array(found.residuals[1:11]) - residuals[:10]).max() < bound
    settled = np.linalg.norm(b - matrix @ x) < 1e-5 * np.linalg.norm(b)
    assert found.settled == settled
    if settled:
        assert abs(found.iterations - len(residuals)) <= 1
        assert np.linalg.norm(b - matrix @ ours) < 1.01e-5 * np.linalg.norm(b)


def test_spaces_with_their_own_image() -> None:
    """The space is complete after one vector, two or all. The solver finds a solution that is in
    it."""
    b = np.arange(1.0, 6.0)
    found, x, _ = solved(DOUBLE, 4.0 * eye_array(5), b, 1e-6, 9)
    assert (found.iterations, found.settled) == (1, True)
    assert np.abs(x - b / 4).max() < 1e-15
    found, x, _ = solved(DOUBLE, diags_array([1.0, 2, 1, 2, 2]), b, 1e-12, 9)
    assert (found.iterations, found.settled) == (2, True)
    turn = csr_array(([1.0] * 5, ([1, 2, 3, 4, 0], range(5))), shape=(5, 5))
    found, x, _ = solved(DOUBLE, turn, b * [1, 0, 0, 0, 0], 1e-12, 9)
    assert (found.iterations, found.settled) == (5, True)
    assert np.abs(x - [0, 0, 0, 0, 1]).max() < 1e-15


@pytest.mark.parametrize("size", [2, 3])
def test_systems_without_a_solution(size: int) -> None:
    """The space is complete, and the right side is not in its image. The method reports this and
    keeps its last iterate."""
    matrix = csr_array(([1.0], ([0], [0])), shape=(size, size))
    b = np.array([3.0, 1, 1][:size])
    found, x, _ = solved(DOUBLE, matrix, b, 1e-6, 50)
    assert (found.settled, found.why) == (
        False, "the space has its own image, but not the residual"
    )  # fmt: skip
    assert found.residuals[-1] == pytest.approx(np.sqrt(size - 1))
    assert x[0] == pytest.approx(3)
    nothing = csr_array(([1.0], ([0], [1])), shape=(2, 2))
    found, x, _ = solved(DOUBLE, nothing, np.array([1.0, 0]), 1e-6, 50)
    assert (found.iterations, found.settled, found.residuals) == (1, False, (1.0, 1.0))
    assert not x.any()


def test_values_that_become_infinite() -> None:
    rules = Rules(fmt=FORMATS["fp16"], leaves=4, subtensor=4)
    matrix = csr_array(np.full((8, 8), 3e4) + np.diag(np.arange(8.0)))
    found, x, _ = solved(rules, matrix, np.ones(8), 1e-2, 9)
    assert (found.iterations, found.settled) == (0, False)
    assert found.why == "the image of a vector is not finite"
    assert not x.any()
    # Here the mean of the diagonal is, too.
    found, x, _ = solved(DOUBLE, csr_array(1e308 * np.eye(3)), np.ones(3), 1e-2, 9)
    assert (found.iterations, found.why) == (0, "the image of a vector is not finite")


def test_refusals() -> None:
    def said(matrix: Any, b: Any, restart: int = 20) -> str:
        return refusal(lambda: minimal_residuals(DOUBLE, matrix, b, tolerance=1, restart=restart))

    assert said(eye_array(3), np.zeros(3)) == "`right` must not be 0"
    assert said(eye_array(3), np.ones(4)) == "`matrices` must have 4 rows, not 3 as matrix"
    assert said(eye_array(3), np.ones(3), 0) == "`restart` must be at least 1, not 0"
