"""Dense products, ``gemm --unit tensaurus``, ``gemv``, and ``gcn``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import random_array
from tilewright.verif.kit.commands import Run, draw
from tilewright.verif.tensaurus.apps.files import random_tensor, report, save_tensor

pytestmark = pytest.mark.quick

UNIT = ("--unit", "tensaurus", "--backend", "model")


@pytest.mark.slow
@pytest.mark.parametrize("app", ["spmttkrp", "spttmc"])
def test_dense_and_sparse_products_agree(run: Run, app: str) -> None:
    """Whole numbers: zeros add nothing."""
    tensor, _ = random_tensor(2, (9, 8, 7), 60, whole=True)
    path = save_tensor(run, tensor)
    results = []
    for options in ((), ("--dense",)):
        out = run.directory / "y.npy"
        found = report(run, app, path, "--rank", 5, "--mode", 2, *options, "--set", "value=int32",
                       "-o", out)  # fmt: skip
        assert found["reference"]["wrong"] == 0
        results.append(np.load(out))
    assert (results[0] == results[1]).all()
    assert results[0].any()


def test_gemm_is_numpys(run: Run) -> None:
    a, b = draw(1, 30, 40), draw(2, 40, 35)
    out = run.directory / "c.npy"
    files = run.save("a.npy", a), run.save("b.npy", b)
    found = report(run, "gemm", *files, *UNIT, "--set", "value=fp64", "-o", out)
    assert np.abs(np.load(out) - a @ b).max() < 1e-12
    assert found["unit"] == "tensaurus"
    assert found["app"] == "gemm"
    assert found["counters"]["operations"] == 2 * 30 * 40 * 64


@pytest.mark.slow
def test_gemv_takes_zeros_as_values(run: Run) -> None:
    """The least of sums, zeros of the matrix among them."""
    a = np.array([[0.0, 5.0], [7.0, 0.0], [3.0, 3.0]])
    v = np.array([2.0, 1.0])
    out = run.directory / "y.npy"
    files = run.save("a.npy", a), run.save("v.npy", v)
    found = report(run, "gemv", *files, "--semiring", "minplus", "-o", out)
    assert np.load(out).tolist() == [2.0, 1.0, 4.0]
    assert found["reference"]["wrong"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--c", "{a}"), "--c is not for tensaurus, whose format is `value`"),
        (("--mode", "fp16"), "--mode is not for tensaurus, whose format is `value`"),
        (("--set", "tlen=0"), "tensaurus: `tlen` must be an integer in 1..16, not 0"),
    ],
)
def test_what_gemm_refuses(run: Run, options: tuple[str, ...], message: str) -> None:
    a = run.save("a.npy", np.eye(4))
    words = [word.format(a=a) for word in options]
    assert run.refused("gemm", a, a, *UNIT, *words) == message
    b = run.save("b.npy", np.eye(3))
    assert run.refused("gemm", a, b, *UNIT) == f"{b}: must have 4 rows, as {a} has 4 columns, not 3"


@pytest.mark.slow
@pytest.mark.parametrize("value", ["fp32", "fp64"])
def test_graph_convolutions(run: Run, value: str) -> None:
    """Against the definition, with the weights of the seed."""
    rng = np.random.default_rng(4)
    graph = random_array((40, 40), density=0.08, rng=rng)
    path, x = run.directory / "g.mtx", rng.standard_normal((40, 11))
    mmwrite(path, graph.tocoo())
    out = run.directory / "y.npy"
    found = report(run, "gcn", path, run.save("x.npy", x), "--hidden", 5, "--classes", 3,
                   "--seed", 9, "--set", f"value={value}", "-o", out)  # fmt: skip
    adjacency = (graph.toarray() != 0) | np.eye(40, dtype=bool)
    roots = 1 / np.sqrt(adjacency.sum(axis=1))
    normalised = roots[:, None] * adjacency * roots
    draws = np.random.default_rng(9)
    first, second = (draws.standard_normal((n, m)) / np.sqrt(n) for n, m in ((11, 5), (5, 3)))
    wanted = normalised @ (np.maximum(normalised @ (x @ first), 0) @ second)
    assert np.abs(np.load(out) - wanted).max() < {"fp32": 1e-5, "fp64": 1e-13}[value]
    assert found["reference"]["wrong"] == 0
    assert found["products"] == 4


@pytest.mark.slow
def test_what_graph_convolutions_refuse(run: Run) -> None:
    square, wide = run.save("g.npy", np.eye(4)), run.save("w.npy", np.ones((4, 3)))
    short = run.save("x.npy", np.ones((3, 2)))
    assert run.refused("gcn", square, short) == (
        f"{short}: must have 4 rows, as {square} has vertices, not 3"
    )
    assert run.refused("gcn", wide, short) == f"{wide}: a graph's matrix must be square, not 4 x 3"
    bad = run.save("bad.npy", np.full((4, 2), np.inf))
    assert run.refused("gcn", square, bad) == (
        f"{bad}: values must be real and finite, not inf as in row 0, column 0, from 0"
    )
