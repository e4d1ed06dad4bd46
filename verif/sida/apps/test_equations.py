"""``tilewright run label|cg|bicgstab|gmres`` on the model, against SciPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, eye_array, kron
from scipy.sparse.linalg import bicgstab, cg, gmres, spsolve
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.sida.apps.files import report, save_graph
from tilewright.verif.sida.iterations.solving import random_graph


def grid(size: int) -> Any:
    """The 5-point operator of a square grid."""
    line = diags_array(
        [-np.ones(size - 1), 2 * np.ones(size), -np.ones(size - 1)], offsets=[-1, 0, 1]
    )
    return csr_array(kron(line, eye_array(size)) + kron(eye_array(size), line))


def symmetric(seed: int, size: int = 40) -> Any:
    """A graph without directions whose vertices are all in one part."""
    graph = random_graph(seed, size, density=0.05).tolil()
    for vertex in range(size - 2):
        graph[vertex, vertex + 1] = 1 + vertex % 3
    graph[size - 1, :] = graph[:, size - 1] = 0
    found = csr_array(graph)
    found.setdiag(0)
    found.eliminate_zeros()
    return csr_array(found + found.T)


@pytest.mark.parametrize("value", slow_but(["fp64"], ["fp64", "fp32"]))
def test_labels(run: Run, value: str) -> None:
    """Labels move until they settle, at the solution of a direct solver. The last vertex is
    isolated."""
    graph, out = symmetric(3), run.directory / "x.npy"
    given = [0.0, 1.0, 1.0, 0.0]
    tolerance = 1e-9 if value == "fp64" else 1e-6
    found = report(run, "label", save_graph(run, graph), "--labels", "0,1,1,0", "--tolerance",
                   tolerance, "--set", f"value={value}", "-o", out)  # fmt: skip
    values = np.load(out)
    degrees = graph.sum(axis=1)
    free = np.arange(4, 39)
    whole = diags_array(degrees[free]) - graph[free][:, free]
    expected = spsolve(whole.tocsc(), graph[free][:, :4] @ given)
    assert np.abs(values[free] - expected).max() < {"fp64": 1e-6, "fp32": 1e-3}[value]
    assert values[:4].tolist() == given
    assert values[39] == 0.5
    assert found["classes"] == {
        "one": int((values > 0.5).sum()), "zero": int((values < 0.5).sum()), "undecided": 1,
    }  # fmt: skip
    assert found["reference"]["wrong"] == 0


def test_labels_of_a_file(run: Run) -> None:
    graph, labels = save_graph(run, symmetric(3)), run.save("l.npy", np.array([0, 1, 1, 0]))
    wrong = run.save("w.npy", np.array([0, 0.5]))
    assert run.refused("label", graph, "--labels", wrong) == (
        f"{wrong}: label 2 must be 0 or 1, not 0.5"
    )
    counts = [
        report(run, "label", graph, "--labels", given, "--max-iterations", 7, status=1)
        for given in ("0,1,1,0", labels)
    ]
    assert counts[0]["residual"] == counts[1]["residual"]
    assert counts[0]["classes"] == counts[1]["classes"]


@pytest.mark.parametrize("form", ["plain", "pipelined"])
@pytest.mark.parametrize("size", slow_but([12], [3, 12, 20]))
def test_conjugate_gradients(run: Run, size: int, form: str) -> None:
    """SciPy's iterates to rounding, and as many; two a pass if they are pipelined."""
    matrix, out = grid(size), run.directory / "x.npy"
    b = np.random.default_rng(size).normal(size=size * size)
    found = report(run, "cg", save_graph(run, matrix), "--right", run.save("b.npy", b),
                   "--tolerance", "1e-8", "-o", out, "--form", form)  # fmt: skip
    expected, failed = cg(matrix, b, rtol=1e-8)
    assert not failed
    assert np.abs(np.load(out) - expected).max() < 1e-10 * np.abs(expected).max()
    assert found["iterations"] == found["scipy_iterations"]
    if form == "plain":
        assert (found["passes"], found["jobs"]) == (found["iterations"], 2 * found["iterations"])
        assert len(found["residuals"]) == found["iterations"] + 1
    else:
        assert (found["passes"], found["jobs"]) == (-(-found["iterations"] // 2), 1)
    assert found["form"] == form
    assert np.linalg.norm(b - matrix @ np.load(out)) < 1.001e-8 * np.linalg.norm(b)
    assert found["config"]["value"] == "fp64"
    assert found["reference"]["wrong"] == 0


@pytest.mark.parametrize("form", ["plain", "pipelined"])
def test_conjugate_gradients_in_fp32(run: Run, form: str) -> None:
    found = report(run, "cg", save_graph(run, grid(8)), "--set", "value=fp32", "--form", form)
    assert abs(found["iterations"] - found["scipy_iterations"]) <= 1
    assert 0 < found["reference"]["error"] < 1e-4


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
def test_nothing_left_of_the_residual(run: Run, method: str) -> None:
    """The solution itself has been found, which no tolerance refuses."""
    path = save_graph(run, csr_array(2 * np.eye(4)))
    found = report(run, method, path, "--tolerance", "0", "--backend", "model")
    assert (found["iterations"], found["settled"], found["residual"]["value"]) == (1, True, 0)
    assert "the residual's 2-norm 0; it ends at 0" in " ".join(run.out.split())


def test_a_matrix_that_is_not_definite(run: Run) -> None:
    """The residual grows or is not a number: status 1, and the last iterate is kept."""
    matrix = csr_array(np.diag([1.0, -1.0, 2.0, 0.0]))
    path, most = save_graph(run, matrix), ("--max-iterations", 9)
    found = report(run, "cg", path, *most, "--form", "pipelined", status=1)
    assert not found["settled"]
    assert found["reference"] is None
    assert found["iterations"] == 9
    assert "NOT CONVERGED: the residual's square" in run.out
    found = report(run, "cg", path, *most, status=1)
    assert not found["settled"]
    assert found["reference"] is None
    assert "NOT CONVERGED: the residual's 2-norm" in run.out
    path = save_graph(run, csr_array(np.diag([1.0, -1.0])))
    found = report(run, "cg", path, status=1)
    assert (found["iterations"], found["jobs"]) == (0, 1)
    assert found["ended"] == "the direction times its image is 0"


def lopsided(size: int) -> Any:
    """A grid with wind."""
    wind = diags_array([np.full(size * size - 1, 0.4)], offsets=[1])
    return csr_array(grid(size) + wind + eye_array(size * size))


@pytest.mark.parametrize("size", slow_but([8], [1, 8, 16]))
def test_stabilised_biconjugate_gradients(run: Run, size: int) -> None:
    """SciPy's iterates to rounding, and as many, of a matrix that is not symmetric."""
    matrix, out = lopsided(size), run.directory / "x.npy"
    b = np.random.default_rng(size).normal(size=size * size)
    found = report(run, "bicgstab", save_graph(run, matrix), "--right", run.save("b.npy", b),
                   "--tolerance", "1e-8", "-o", out)  # fmt: skip
    expected, failed = bicgstab(matrix, b, rtol=1e-8)
    assert not failed
    assert np.abs(np.load(out) - expected).max() < 1e-9 * np.abs(expected).max()
    assert found["iterations"] == found["scipy_iterations"]
    assert len(found["residuals"]) == found["iterations"] + 1
    assert found["passes"] in (2 * found["iterations"], 2 * found["iterations"] - 1)
    assert 4 * found["iterations"] - 1 <= found["jobs"] <= 4 * found["iterations"]
    assert np.linalg.norm(b - matrix @ np.load(out)) < 1.001e-8 * np.linalg.norm(b)
    assert found["reference"]["wrong"] == 0


def test_a_breakdown(run: Run) -> None:
    """Status 1, and why."""
    path = save_graph(run, np.array([[0.0, 1.0], [-1.0, 0.0]]))
    found = report(run, "bicgstab", path, status=1)
    assert (found["iterations"], found["jobs"], found["reference"]) == (0, 1, None)
    assert found["ended"] == "the shadow times the direction's image is 0"
    found = report(run, "bicgstab", save_graph(run, lopsided(6)), "--max-iterations", 2, status=1)
    assert (found["iterations"], found["settled"], found["ended"]) == (2, False, None)


@pytest.mark.parametrize("restart", slow_but([7], [1, 7, 20]))
def test_generalised_minimal_residuals(run: Run, restart: int) -> None:
    """SciPy's residuals to rounding, and as many, in half as many passes."""
    matrix, out = lopsided(8), run.directory / "x.npy"
    b = np.random.default_rng(8).normal(size=64)
    path = save_graph(run, matrix)
    found = report(run, "gmres", path, "--right", run.save("b.npy", b), "--tolerance", "1e-8",
                   "-o", out, "--restart", restart)  # fmt: skip
    expected, failed = gmres(matrix, b, rtol=1e-8, restart=restart)
    assert not failed
    assert np.abs(np.load(out) - expected).max() < 1e-12 * np.abs(expected).max()
    assert found["iterations"] == found["scipy_iterations"] > 15
    assert found["scipy_difference"] < 1e-13
    assert f"residuals of {found['iterations']} iterations differ by at most" in run.out
    assert len(found["residuals"]) == found["iterations"] + 1
    # Each cycle has one more pass, for its residual.
    full, rest = divmod(found["iterations"], restart)
    passes = full * (-(-restart // 2) + 1) + (-(-rest // 2) + 1 if rest else 0)
    assert found["passes"] == passes
    assert found["jobs"] > 2 * passes
    assert found["wasted"] <= 1
    assert found["restart"] == restart
    assert np.linalg.norm(b - matrix @ np.load(out)) < 1.001e-8 * np.linalg.norm(b)
    # All elements are in one step; with an iteration a cycle there is no second product.
    assert found["held"] == (None if restart == 1 else {"most": 295, "mean": 295.0})
    assert found["reference"]["wrong"] == 0
    assert found["config"]["value"] == "fp64"


def test_minimal_residuals_that_do_not_converge(run: Run) -> None:
    """The status is 1, the last iterate is kept, and the residual is printed."""
    path, out = save_graph(run, lopsided(6)), run.directory / "x.npy"
    found = report(run, "gmres", path, "--max-iterations", 3, "-o", out, status=1)
    assert (found["iterations"], found["settled"], found["ended"]) == (3, False, None)
    left = float(np.linalg.norm(np.ones(36) - lopsided(6) @ np.load(out)))
    assert found["residual"]["value"] == pytest.approx(left)
    assert found["reference"] is None
    assert f"NOT CONVERGED: the residual's 2-norm {left:.4g}; it ends below" in run.out
    path = save_graph(run, np.array([[2.0, 0], [0, 0]]))
    found = report(run, "gmres", path, status=1)
    assert found["ended"] == "the space has its own image, but not the residual"
    assert found["scipy_iterations"] is None
    assert run.refused("gmres", path, "--restart", 0) == (
        "--restart must be an integer in 1..1000, not '0'"
    )


@needs_data
@pytest.mark.parametrize(
    ("restart", "tolerance", "count"), [(20, 1e-5, 12), (10, 1e-5, 17), (20, 1e-10, 22)]
)
def test_minimal_residuals_of_a_matrix_that_is_badly_conditioned(
    run: Run, restart: int, tolerance: float, count: int
) -> None:
    """The page gives these counts; one iteration depends on roundings on the host."""
    path = data_file("matrices/LFAT5.mtx")
    found = report(run, "gmres", path, "--restart", restart, "--tolerance", tolerance)
    assert abs(found["iterations"] - count) <= 1
    if tolerance == 1e-5:
        assert abs(found["iterations"] - found["scipy_iterations"]) <= 1
    assert 1 <= found["wasted"] < found["passes"]
    assert found["reference"]["wrong"] == 0
    assert found["restart"] == min(restart, 14)


@needs_data
def test_a_matrix_that_is_badly_conditioned(run: Run) -> None:
    """The page gives these counts for both forms."""
    path = data_file("matrices/LFAT5.mtx")
    found = report(run, "cg", path)
    assert (found["iterations"], found["scipy_iterations"]) == (25, 25)
    assert (found["passes"], found["jobs"], found["reference"]["wrong"]) == (25, 50, 0)
    found = report(run, "cg", path, "--form", "pipelined", status=1)
    assert (found["iterations"], found["scipy_iterations"]) == (140, 25)
    assert not found["settled"]


LABELS = [
    *((("--labels", labels), "--labels must be 0 or 1 each with commas between them, or a .npy, "
       f".npz, .mtx or .mtx.gz file of them, not {labels!r}")
      for labels in ("0,2", "-1", "0,1,", "true", "", "1e0")),
    (("--labels", "0,1,1,1"),
     "--labels must be at most 3 labels, for the vertices of {path}, not 4"),
    (("--labels", "x.npy"), "x.npy: cannot be read: No such file or directory"),
    (("--labels", "1", "--set", "value=int32"),
     "`value` must be a format of floats for label, not 'int32'"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), LABELS)
def test_refused_labels(run: Run, options: tuple[str, ...], message: str) -> None:
    path = save_graph(run, np.array([[0, 2.0, 0], [2, 0, 1], [0, 1, 0]]))
    assert run.refused("label", path, *options) == message.format(path=path)


def test_refused_graphs(run: Run) -> None:
    path = save_graph(run, np.array([[0, 2.0, 0], [2, 0, -1], [0, -1, 0]]))
    assert run.refused("label", path, "--labels", "1") == (
        f"{path}: the weight of the edge 2 -> 3 is -1; weights must be positive"
    )
    path = save_graph(run, np.array([[0, 2.0, 0], [2, 0, 3], [0, 1, 0]]))
    assert run.refused("label", path, "--labels", "1") == (
        f"{path}: the edge 2 -> 3 has no reverse edge of the same weight; weights must be symmetric"
    )


def test_refused_matrices(run: Run) -> None:
    def said(matrix: Any, *options: object) -> tuple[str, Path]:
        path = save_graph(run, np.asarray(matrix, float))
        return run.refused("cg", path, *options), path

    line, path = said([[1, 2, 3], [2, 1, 0]])
    assert line == f"{path}: must be square, of a row at least, not 2 x 3"
    line, path = said([[1, 2], [3, 1]])
    assert line == (
        f"{path}: the value of row 1, column 2 is 2, the value of row 2, column 1 is 3; the matrix "
        "must be symmetric; run bicgstab and gmres take others"
    )
    line, path = said([[1, np.inf], [np.inf, 1]])
    assert line == f"{path}: the value of row 1, column 2 is inf; values must be finite numbers"
    line, path = said(np.zeros((2, 2)))
    assert line == f"{path}: the matrix has no entries"
    line, path = said(np.eye(2), "--form", "fast")
    assert line == "--form must be plain or pipelined, not 'fast'"
    line, path = said(np.eye(65), "--set", "vector_words=64")
    assert line == (
        f"{path}: 65 rows are too many for `vector_words` 64, elements of a vector on chip; "
        "--set vector_words=128 holds them"
    )
    for right, text in (
        (np.ones(3), "must be a vector of 2 real values, not 3"),
        (np.ones((2, 2)), "must be a vector of 2 real values, not 2 x 2"),
        (np.ones(2) * 1j, "must be a vector of 2 real values, not of complex ones"),
        (np.array([1, np.nan]), "value 2 is nan; values must be finite"),
        (np.zeros(2), "values must not all be 0"),
        (
            np.full(2, 1e300),
            "the sum of the values' squares must be finite and above 0 in fp64, not inf",
        ),
        (
            np.full(2, 1e-300),
            "the sum of the values' squares must be finite and above 0 in fp64, not 0",
        ),
    ):
        file = run.save("b.npy", right)
        assert said(np.eye(2), "--right", file)[0] == f"{file}: {text}"
    path = run.directory / "one.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n90000 90000 1\n1 1 1\n")
    line = run.refused("bicgstab", path, "--set", "value=fp16", "--set", "vector_words=131072")
    assert line == (
        "90,000 ones, the right side: the sum of the values' squares must be finite and above 0 in "
        "fp16, not inf"
    )
