"""Infinite numbers and NaN in files: every command that reads floats refuses them or warns."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.verif.kit.commands import Run

pytestmark = pytest.mark.quick

WARN = {
    "gemm": "a.npy a.npy --backend model",
    "dft": "v.npy --backend model",
    "conv2d": "a.npy --filter box --backend model",
    "spgemm": "a.npy --backend model",
    "spmv": "a.npy --backend model",
    "vector": "add a.npy a.npy --backend model",
    "strassen": "a.npy a.npy",
    "polyval": "v.npy one.npy",
    "stencil": "a.npy --weights taps.npy --steps 1",
    "fft": "v.npy",
}
"""Commands that compute with special numbers."""

REFUSE = {
    "pagerank": "a.npy",
    "cg": "a.npy",
    "kmeanspp": "a.npy",
    "apsp": "a.npy",
    "knn": "a.npy a.npy",
    "lu": "a.npy",
    "pca": "a.npy",
    "eliminate": "a.npy",
    "spmul": "a.npy a.npy",
    "closure": "a.npy",
}


@pytest.fixture(autouse=True)
def _files(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.directory)
    a = np.eye(4)
    a[1, 2] = a[2, 1] = np.nan
    a[0, 3] = np.inf
    np.save("a.npy", a)
    np.save("v.npy", np.array([1, np.nan, np.inf, 2]))
    np.save("one.npy", np.ones(3))
    np.save("taps.npy", np.full((3, 3), 0.125))


@pytest.mark.parametrize("app", WARN)
def test_warnings(run: Run, app: str) -> None:
    words = WARN[app].split()
    assert run(app, *words) == 0
    file = next(word for word in words if word.endswith(".npy"))
    wrong, count = (2, 4) if file == "v.npy" else (3, 7 if app.startswith("sp") else 16)
    assert f"warning: {file}: {wrong} of {count} values are infinite or NaN\n" in run.err


@pytest.mark.parametrize("app", REFUSE)
def test_refusals(run: Run, app: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Refuses with one line, without a warning before it."""
    assert run.refused(app, *REFUSE[app].split()).startswith("a.npy: ")
    assert capsys.readouterr() == ("", "")
