"""``tilewright run einsum`` of tensors of which entries alone are stored."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import csr_array, random_array, save_npz
from tilewright.cli import main
from tilewright.verif.kit.sampling import slow_but

SMALL = ["--set", "largest=2"]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Matrices ``a`` and ``b``, a tensor ``t`` whose last places are empty, vectors, matrices."""
    rng = np.random.default_rng(1)
    a, b = (random_array((9, 13), density=0.3, rng=rng) for _ in range(2))
    mmwrite(tmp_path / "a.mtx", a.tocoo())
    save_npz(tmp_path / "b.npz", csr_array(b))
    np.save(tmp_path / "dense.npy", a.toarray())
    places = np.unique(rng.integers(0, [7, 10, 4], (60, 3)), axis=0)
    for name, first in (("t", 1), ("zero", 0)):
        lines = [
            " ".join(map(str, place + first)) + f" {n % 7 - 3}.5" for n, place in enumerate(places)
        ]
        (tmp_path / f"{name}.tns").write_text("\n".join(lines))
    np.save(tmp_path / "x.npy", rng.normal(size=13))
    np.save(tmp_path / "m.npy", rng.normal(size=(13, 5)))
    np.save(tmp_path / "n.npy", rng.normal(size=(6, 5)))
    return {one.name: str(one) for one in tmp_path.iterdir()}


RUNS = {
    "spmv": ("ik,k->i", "a.mtx x.npy"),
    "spmv_ciss": ("ab, b -> a", "b.npz x.npy"),
    "spmm": ("ik,kj->ij", "dense.npy m.npy"),
    "spmttkrp": ("ikl,kj,lj->ij", "t.tns m.npy n.npy"),
    "hadamard": ("ik,ik,k->i", "a.mtx b.npz x.npy"),
    "union": ("ik,k+ik,k->i", "a.mtx b.npz x.npy"),
}


def run(
    design: str, files: dict[str, str], report: Path, *words: str, names: str = ""
) -> tuple[int, list[str]]:
    expression, usual = RUNS[design]
    given = [files[name] for name in (names or usual).split()]
    asked = ["run", "einsum", expression, *given, "--set", f"design=sparse/{design}", *SMALL]
    return main([*asked, "--json", str(report), *words]), given


@pytest.mark.parametrize("design", RUNS)
def test_on_the_model(
    design: str, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "r.json"
    code, _ = run(design, files, report, "--backend", "model")
    assert code == 0
    assert "SciPy's up to rounding" in capsys.readouterr().out
    found = json.loads(report.read_text())
    assert (found["wrong"], found["mismatches"]) == (0, None)
    assert found["expression"] == RUNS[design][0].replace(" ", "").replace("ab,b->a", "ik,k->i")
    assert found["entries"]["A"] > 20
    assert found["steps"]["A"] * found["elements"] >= found["entries"]["A"]
    assert "cycles" not in found


@pytest.mark.parametrize("design", ["spmv", "spmm", "spmttkrp", "hadamard", "union"])
def test_no_entries(design: str, files: dict[str, str], tmp_path: Path) -> None:
    """Of tensors without entries, and of two that have none in common, all sums are of nothing."""
    places = np.arange(9)
    first = csr_array((np.ones(9), (places, places)), shape=(9, 13))
    second = csr_array((np.ones(9), (places, places + 1)), shape=(9, 13))
    empty = csr_array((9, 13))
    for name, matrix in (("first", first), ("second", second), ("empty", empty)):
        save_npz(tmp_path / f"{name}.npz", matrix)
        files[f"{name}.npz"] = str(tmp_path / f"{name}.npz")
    files["none.npy"] = str(tmp_path / "none.npy")
    np.save(files["none.npy"], np.zeros((3, 13, 6)))
    given = {
        "spmv": "empty.npz x.npy",
        "spmm": "empty.npz m.npy",
        "spmttkrp": "none.npy m.npy n.npy",
        "hadamard": "first.npz second.npz x.npy",
        "union": "empty.npz empty.npz x.npy",
    }[design]
    out = tmp_path / "y.npy"
    words = ["--backend", "model", "-o", str(out)]
    assert run(design, files, tmp_path / "r.json", *words, names=given)[0] == 0
    assert not np.any(np.load(out))


@pytest.mark.parametrize("design", slow_but([], RUNS, ["spmm"]))
def test_on_the_verilog(design: str, files: dict[str, str], tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    code, _ = run(design, files, report)
    assert code == 0
    found = json.loads(report.read_text())
    assert (found["wrong"], found["mismatches"]) == (0, 0)
    assert 0 < found["utilisation"] <= 1
    assert found["bytes_read"] > 0


def test_results(files: dict[str, str], tmp_path: Path) -> None:
    """Written as they are, in whole numbers; of a file of entries its mode is as large as that of
    the dense matrix."""
    out = tmp_path / "y.npy"
    rng = np.random.default_rng(2)
    a, x = rng.integers(-3, 4, (9, 13)), rng.integers(-9, 9, 13)
    for name, array in (("a", a), ("x", x)):
        np.save(tmp_path / f"{name}_whole.npy", array)
    files |= {f"{name}_whole.npy": str(tmp_path / f"{name}_whole.npy") for name in "ax"}
    words = ["--backend", "model", "--set", "format=int8", "-o", str(out)]
    code, _ = run("spmv_ciss", files, tmp_path / "r.json", *words, names="a_whole.npy x_whole.npy")
    assert code == 0
    assert np.array_equal(np.load(out), a @ x)
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["entries"] == {"A": int(np.count_nonzero(a))}
    words = ["--backend", "model", "-o", str(out)]
    assert run("spmttkrp", files, tmp_path / "r.json", *words)[0] == 0
    first = np.load(out)
    assert json.loads((tmp_path / "r.json").read_text())["bounds"]["k"] == 13
    given = "zero.tns m.npy n.npy"
    code, _ = run("spmttkrp", files, tmp_path / "r.json", *words, "--zero-based", names=given)
    assert code == 0
    assert np.array_equal(np.load(out), first)


@pytest.mark.parametrize(
    ("design", "names", "words", "message"),
    [
        (
            "spmv",
            "",
            ["--backend", "cycles"],
            "backend must be rtl or model for sparse/spmv, not 'cycles': cycles of sparse operands "
            "are not foreseen",
        ),
        ("union", "a.mtx x.npy", [], "operands must be 3 for ik,k+ik,k->i, A, B, X, not 2"),
        ("spmv", "a.mtx t.tns", [], "{1}: must be an array: the operand is dense in this design"),
        ("spmv", "t.tns x.npy", [], "{0}: must have 2 dimensions for ik,k->i, not 3"),
        (
            "spmv",
            "a.mtx m.npy",
            [],
            "{1}: must have 1 dimension for ik,k->i, not 2",
        ),
        (
            "hadamard",
            "a.mtx m.npy x.npy",
            [],
            "B must have 9 places for i, its dimension 0, not 13: i = 9 in A",
        ),
    ],
    ids=["cycles", "number", "dense", "modes", "dimensions", "shapes"],
)
def test_refused(
    design: str,
    names: str,
    words: list[str],
    message: str,
    files: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, given = run(design, files, tmp_path / "r.json", *words, names=names)
    assert code == 2
    assert capsys.readouterr().err == f"error: {message.format(*given)}\n"


def test_a_wrong_result_is_told(
    files: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An element that does other sums is found out."""
    from tilewright.sim.t2s import model

    real = model.sums_of_entries
    monkeypatch.setattr(model, "sums_of_entries", lambda *given: real(*given) ^ np.uint64(1 << 23))
    code, _ = run("union", files, tmp_path / "r.json", "--backend", "model")
    assert code == 1
    assert "9 elements are not SciPy's up to rounding" in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())["wrong"] == 9
