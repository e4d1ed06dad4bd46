"""``tilewright run spmul``: products, reports, and one line for any error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmread, mmwrite
from tilewright.cli import main
from tilewright.sim.tcu.formulas.sparse import round_of
from tilewright.verif.kit.commands import check_refused


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    a = sparse.random_array((60, 50), density=0.04, rng=rng)
    mmwrite("a.mtx", a)
    sparse.save_npz("b.npz", sparse.random_array((50, 70), density=0.04, rng=rng).tocsr())
    contents = {
        "i": rng.integers(-3, 4, (40, 40)) * (rng.random((40, 40)) < 0.1),
        "nothing": np.zeros((50, 5)), "full": np.ones((50, 50)), "flat": np.ones(4),
        "nan": np.full((50, 2), np.nan), "complex": np.full((50, 2), 1j),
        "high": np.eye(40, dtype=int)[::-1] * 2**53, "none": np.zeros((50, 0)),
        "low": np.eye(40, dtype=int) * 32 * (np.arange(40) == 0),
    }  # fmt: skip
    for name, array in contents.items():
        np.save(f"{name}.npy", array)
    return tmp_path


def report_of(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    assert [one["wrong"] for one in report["references"]] == [0] * len(report["references"])
    assert report["fused_calls"] == 0
    return report


@pytest.mark.parametrize("options", ["", "--weak --seed 5", "--entries 1 --words fp32"])
@pytest.mark.usefixtures("files")
def test_floats(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(f"run spmul a.mtx b.npz --m 16 --l 9 -o out.mtx {options}")
    true = mmread("a.mtx") @ sparse.load_npz("b.npz")
    assert abs(mmread("out.mtx") - true).max() < 1e-6
    calls = [round_of(60, 50, 70, one["entries"], 4, "weak" in options)
             for one in report["rounds"]]  # fmt: skip
    assert report["value_rounds"] == []
    assert report["calls"] == sum(one.calls for one in calls)
    assert report["rows"] == sum(one.rows for one in calls)
    assert report["unit_time"] == report["rows"] * 4 + report["calls"] * 9
    assert report["checks"] == len(report["rounds"]) + 1
    assert report["c"] == {"shape": [60, 70], "entries": true.nnz}
    assert (report["method"], report["structure_words"]) == ("output", "int64")
    out = " ".join(capsys.readouterr().out.split())
    assert f"0 by 0 products, {true.nnz} by the CPU" in out


@pytest.mark.parametrize("product", ["tall", "strassen", "standard"])
@pytest.mark.usefixtures("files")
def test_integers(product: str) -> None:
    report = report_of(
        f"run spmul i.npy i.npy --words int64 --product {product} --m 16 --method output -o out.npz"
    )
    i = np.load("i.npy")
    assert sparse.load_npz("out.npz").toarray().tolist() == (i @ i).tolist()
    assert report["product"] == product
    assert report["c"]["entries"] == np.count_nonzero(i @ i)
    assert report["references"][0]["criterion"] == "exact"


@pytest.mark.parametrize("modulus", [97, 12289, 2**61 - 1])
@pytest.mark.usefixtures("files")
def test_residues(modulus: int) -> None:
    """The reference uses Python's integers. Sums that vanish modulo the prime are not entries."""
    rng = np.random.default_rng(2)
    few = rng.integers(0, min(modulus, 2**50), (2, 40, 40)) * (rng.random((2, 40, 40)) < 0.1)
    few[0, 0], few[1, :, 0] = 0, 0
    few[0, 0, :2], few[1, :2, 0] = (-1, 1), 5
    for name, one in zip("xy", few, strict=True):
        np.save(f"{name}.npy", one)
    report = report_of(f"run spmul x.npy y.npy --modulus {modulus} --m 16 -o out.npz")
    x, y = few.astype(object)
    expected = x @ y % modulus
    assert expected[0, 0] == 0
    assert sparse.load_npz("out.npz").toarray().tolist() == expected.tolist()
    assert report["c"]["entries"] == np.count_nonzero(expected)
    assert (report["words"], report["modulus"]) == (f"modular({modulus})", modulus)
    reference = report["references"][0]
    assert (reference["criterion"], reference["values"]) == ("exact", report["c"]["entries"])


@pytest.mark.usefixtures("files")
def test_dense_and_empty_products() -> None:
    report = report_of("run spmul full.npy full.npy --m 16 --entries 2500")
    assert [one["found"] for one in report["value_rounds"]] == [2500]
    assert report["references"][1]["values"] == 2500
    report = report_of("run spmul a.mtx nothing.npy -o out.npz")
    assert (report["calls"], report["rounds"], report["c"]["entries"]) == (0, [], 0)
    assert sparse.load_npz("out.npz").shape == (60, 5)


@pytest.mark.usefixtures("files")
def test_seeds() -> None:
    runs = [report_of(f"run spmul a.mtx b.npz --seed {seed}") for seed in (3, 3, 4)]
    assert runs[0]["rounds"] == runs[1]["rounds"] != runs[2]["rounds"]


@pytest.mark.parametrize(
    ("change", "told"), [("structure", "DIFFERENT"), ("values", "BEYOND it")], ids=str
)
@pytest.mark.usefixtures("files")
def test_a_wrong_result_is_told(
    change: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tilewright.sim.tcu.sparse import entries
    from tilewright.sim.tcu.sparse.output_sensitive import SparseProduct

    def wrong(unit: Any, a: Any, b: Any, **options: Any) -> SparseProduct:
        true = a @ b
        true.data += 1e-9 if change == "values" else 0
        found = entries.as_entries("c", true, unit.words)
        kept = found.places[change == "structure" :]
        return SparseProduct(entries.Entries.at(found.shape, kept, found.values[-len(kept) :]), ())

    monkeypatch.setattr("tilewright.apps.tcu.sparse_products.spmul", wrong)
    assert main(["run", "spmul", "a.mtx", "b.npz"]) == 1
    assert told in capsys.readouterr().out


BAD_WORDS = {
    "a.mtx": "Missing argument 'B' (see `tilewright run spmul --help`)",
    "a.mtx b.npz --method rows": "--method must be output, not 'rows'",
    "a.mtx b.npz --product fast": "--product must be one of tall, strassen, standard, not 'fast'",
    "a.mtx b.npz --words complex": "--words must be one of fp32, fp64, int64, modular, "
    "not 'complex'",
    "i.npy i.npy --words modular": "--words modular must come with --modulus P",
    "i.npy i.npy --words fp32 --modulus 97": "--modulus must come with --words modular, or "
    "without, not with fp32",
    "i.npy i.npy --modulus 96": "the product of i.npy and i.npy: words of spmul must be modulo a "
    "prime of 40 or more, not modular(96)",
    "i.npy i.npy --modulus 37": "the product of i.npy and i.npy: words of spmul must be modulo a "
    "prime of 40 or more, not modular(37)",
    "a.mtx b.npz --modulus 97": "a.mtx: must hold integers for words of modular(97)",
    "a.mtx b.npz --entries 0": "--entries must be an integer in 1..1000000000000000, not '0'",
    "a.mtx b.npz --seed -1": "--seed must be an integer of at least 0, not '-1'",
    "a.mtx a.mtx": "a.mtx: must have 50 rows, as many as a.mtx has columns, not 60",
    "a.mtx i.npy": "i.npy: must have 50 rows, as many as a.mtx has columns, not 40",
    "a.mtx flat.npy": "flat.npy: must hold a matrix (2 dimensions), not 1",
    "a.mtx nan.npy": "nan.npy: must hold finite numbers",
    "a.mtx complex.npy": "complex.npy: holds complex numbers; values must be real",
    "a.mtx none.npy": "none.npy: must have at least one element, not 50 x 0",
    "a.mtx b.npz --words int64": "a.mtx: must hold integers for words of int64",
    "a.mtx b.npz -o x.npy": "x.npy: must end in .mtx, .mtx.gz or .npz, not '.npy'",
    "high.npy low.npy --words int64 --entries 1 --m 16": "the product of high.npy and "
    "low.npy: words must have 65 bits to hold the result, not 64",
    "wide.mtx wide.mtx --entries 65536": "the product of wide.mtx and wide.mtx: compressed "
    "operands must have at most 67108864 words, not 134217728, as for 65536 entries of the product",
    "long.mtx wide.mtx": "long.mtx: must have at most 16777216 rows and columns, not 33554432 x 2",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rows, columns in (("wide", 1 << 18, 1 << 18), ("long", 1 << 25, 2)):
        (files / f"{name}.mtx").write_text(
            f"%%MatrixMarket matrix coordinate real general\n{rows} {columns} 1\n1 1 1\n"
        )
    check_refused(["run", "spmul", *words.split()], BAD_WORDS[words], files, capsys)
