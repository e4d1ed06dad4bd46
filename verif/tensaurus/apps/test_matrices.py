"""``tilewright run spmm`` and ``spmv`` against SciPy and NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import random_array
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.oracles.semiring_matrices import matrix_product
from tilewright.verif.tensaurus.apps.files import report

SMALL = ("--set", "spm_bytes=256", "--set", "out_bytes=1024", "--set", "cols=2")


def matrix(run: Run, rows: int, columns: int, *, whole: bool = True) -> tuple[Path, Any]:
    """Row 0 is empty."""
    rng = np.random.default_rng(rows)
    found = random_array((rows, columns), density=0.1, rng=rng).tolil()
    found[0] = 0
    found = found.tocoo()
    found.data = rng.integers(1, 9, found.nnz).astype(float) if whole else found.data
    path = run.directory / "a.mtx"
    mmwrite(path, found)
    return path, found.tocsr()


@pytest.mark.parametrize("semiring", slow_but(["minplus"], SEMIRINGS))
def test_every_semiring_of_small_whole_numbers_is_exact(run: Run, semiring: str) -> None:
    path, a = matrix(run, 45, 30)
    b = np.random.default_rng(1).integers(-8, 9, (30, 13)).astype(float)
    out = run.directory / "c.npy"
    found = report(run, "spmm", path, run.save("b.npy", b), "--semiring", semiring, *SMALL,
                   "-o", out)  # fmt: skip
    result = np.load(out)
    rows, identity = SEMIRINGS[semiring], float(SEMIRINGS[semiring].identity)
    for i in range(45):
        columns = a.indices[a.indptr[i] : a.indptr[i + 1]]
        if not len(columns):
            assert (result[i] == identity).all()
            continue
        row = a.data[a.indptr[i] : a.indptr[i + 1]][None]
        assert (result[i] == matrix_product(semiring, row, b[columns])[0]).all()
    assert rows.name == found["config"]["semiring"]
    assert found["reference"]["wrong"] == 0
    assert found["tiles"] > 1


@pytest.mark.slow
@pytest.mark.parametrize("app", ["spmm", "spmv"])
@pytest.mark.parametrize("value", ["fp64", "fp16", "int8"])
def test_formats_agree_with_scipy(run: Run, app: str, value: str) -> None:
    path, a = matrix(run, 50, 40, whole=value == "int8")
    columns = 1 if app == "spmv" else 9
    b = np.random.default_rng(2).integers(-8, 9, (40, columns)).astype(float)
    out = run.directory / "c.npy"
    found = report(run, app, path, run.save("b.npy", b), "--set", f"value={value}", *SMALL,
                   "-o", out)  # fmt: skip
    result = np.load(out)
    assert result.shape == ((50,) if app == "spmv" else (50, 9))
    bound = {"fp64": 1e-13, "fp16": 5e-2, "int8": 0}[value]
    assert np.abs(result.reshape(50, -1) - a @ b).max() <= bound
    assert found["reference"]["wrong"] == 0
    assert found["b"]["shape"] == [40, columns]


@pytest.mark.slow
def test_without_a_second_operand_it_is_random(run: Run) -> None:
    path, _ = matrix(run, 20, 10)
    first = report(run, "spmm", path, "--rank", 5, "-o", run.directory / "x.npy")
    report(run, "spmm", path, "--rank", 5, "--seed", 1, "-o", run.directory / "y.npy")
    report(run, "spmv", path)
    x, y = (np.load(run.directory / f"{name}.npy") for name in "xy")
    assert x.shape == (20, 5)
    assert (x != y).any()
    assert first["b"]["source"] == "random"


@pytest.mark.slow
def test_vectors_of_one_and_of_two_dimensions(run: Run) -> None:
    path, a = matrix(run, 20, 10)
    v = np.arange(10.0)
    results = []
    for name, array in (("flat", v), ("tall", v[:, None])):
        out = run.directory / f"{name}_y.npy"
        report(run, "spmv", path, run.save(f"{name}.npy", array), "-o", out)
        results.append(np.load(out))
    assert (results[0] == results[1]).all()
    assert (results[0] == a @ v).all()


@pytest.mark.slow
def test_a_matrix_without_values(run: Run) -> None:
    """Every element is the identity."""
    path, out = run.directory / "none.mtx", run.directory / "c.npy"
    path.write_text("%%MatrixMarket matrix coordinate real general\n5 4 0\n")
    found = report(run, "spmm", path, "--rank", 3, "--semiring", "maxplus", "-o", out)
    assert (np.load(out) == -np.inf).all()
    assert found["reference"]["wrong"] == 0
    report(run, "spmv", path, "-o", out)
    assert np.load(out).tolist() == [0.0] * 5
