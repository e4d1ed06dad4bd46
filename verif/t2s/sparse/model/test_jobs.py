"""Checks the counters of jobs with sparse operands, and the jobs that are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, random_array, save_npz
from tilewright.cli import main
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.device.protocol import JobError
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.job import Job, job_at, outermost
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sparse.entries import Entries, entries_of_numbers
from tilewright.sim.t2s.sparse.image import tile_steps
from tilewright.sim.t2s.sparse.running import laid_out_operands
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.sampling import slow_but

from .plans import NAMES, config_of, driver_of


def test_counts() -> None:
    """The jobs are counted by hand."""
    config = config_of("spmv_ciss", data_bits=64)
    plan = config.plan.sparse
    assert plan is not None
    assert (plan.rows.tile, plan.rows.element_extent, plan.element.ring_words) == (16, 4, 1)
    matrix = np.zeros((20, 9))
    matrix[:, 0] = 1.0  # Every row has one entry: of 16 + 4 rows, 4 and 1 an element.
    driver = driver_of(config)
    driver.compute(A=matrix, X=np.ones(9))
    tiles = (2, 3)
    steps = 4 + 1 + prod(tiles)
    assert driver.steps == {"A": steps}
    counts = driver.counts
    assert counts.operations == 5
    words = steps * plan.entries[0].vector_bytes
    assert counts.bytes_read == -(-words // 8) * 8 + prod(tiles) * 4 * 4
    assert counts.bytes_written == 2 * 16 * 4
    assert (counts.cycles, counts.utilisation) == (0, 0.0)


def test_entries_come_again() -> None:
    """The entries arrive again in each iteration of the loops around them, here those of j."""
    config = config_of("spmm")
    step = outermost(config.plan.program)["j"].step
    driver, counts = driver_of(config), []
    for columns in (step, 3 * step):
        driver.compute(A=np.ones((4, 4)), B=np.ones((4, columns)))
        counts.append(driver.counts)
    assert counts[1].operations == 3 * counts[0].operations > 0
    assert counts[1].bytes_read == 3 * counts[0].bytes_read


@pytest.mark.parametrize(
    ("operands", "error", "text"),
    [
        ({"A": np.ones((3, 4))}, ValueError, "operands must be A, X; X is missing"),
        (
            {"A": csr_array(np.ones((3, 4))), "X": np.ones(5)},
            ValueError,
            "X must have 4 places for k, its dimension 0, not 5: k = 4 in A",
        ),
        (
            {"A": np.ones((3, 4)), "X": coo_array(np.ones((1, 4)))},
            TypeError,
            "X must be dense in this design, not coo_array",
        ),
        ({"A": csr_array(np.ones((3, 4)) * 1j), "X": np.ones(4)}, ValueError,
         "numbers of fp32 must be real, not 1j"),
        (
            {"A": csr_array((0, 4)), "X": np.ones(4)},
            ValueError,
            "bound of i must be 1 or more, not 0",
        ),
        (
            {"A": Entries(shape=(1, 4), places=np.zeros((0, 2), np.int64),
                          words=np.zeros(0, np.uint64)), "X": np.ones(4)},
            TypeError,
            "numbers must be of a sparse or a dense array, not of entries of words",
        ),
    ],
    ids=["missing", "shape", "sparse", "complex", "no rows", "words"],
)  # fmt: skip
def test_refused(operands: dict[str, Any], error: type[Exception], text: str) -> None:
    driver = driver_of(config_of("spmv"))
    with refused(error, text):
        driver.compute(**operands)


def job_of(config: T2sConfig, matrix: Any, base: dict[str, int], device: T2sModel) -> Job:
    """The job of ``spmv`` with images in memory."""
    design, bounds = config.plan, {"i": matrix.shape[0], "k": matrix.shape[1]}
    entries = {"A": entries_of_numbers(matrix, design.word_format("A"), 0)}
    laid = laid_out_operands(design, bounds, entries, config.beat_bytes)
    content = laid.images["A"].content
    if base["A"] + len(content) <= device.memory_bytes:
        device.write_memory(base["A"], content)
    return job_at(config, bounds, base, laid.steps)


def test_behind_the_memory() -> None:
    config = config_of("spmv", largest=2)
    device = T2sModel(config, 4088)
    driver = Driver(device)
    matrix = csr_array(np.ones((4, 4)))
    base = {"A": 0, "X": 2048, "Y": 1024}
    job = job_of(config, matrix, base, device)
    driver.submit(job)
    plan = config.plan.sparse
    assert plan is not None
    size = job.steps["A"] * plan.entries[0].vector_bytes
    last = 4080 - -(-size // 16) * 16
    for first, detail in ((last, None), (last + 16, 4080), (1 << 20, 1 << 20)):
        moved = job_of(config, matrix, base | {"A": first}, device)
        if detail is None:
            driver.submit(moved)
            continue
        with pytest.raises(JobError) as raised:
            driver.submit(moved)
        assert (raised.value.error, raised.value.detail) == ("bus_read", detail)
        assert driver.counts.operations == 0


def test_images_of_another_job() -> None:
    """Registers that say other tiles than the image has: on hardware nothing would be told."""
    config = config_of("spmv", largest=2)
    device = T2sModel(config, 1 << 12)
    job = job_of(config, csr_array(np.ones((4, 4))), {"A": 0, "X": 2048, "Y": 1024}, device)
    driver = Driver(device)
    text = "image of A must have 3 tiles along i, as the register says, not 2"
    with refused(ValueError, text):
        driver.submit(replace(job, trips={**job.trips, "i": 3}))
    with refused(ValueError, "image of A must end with the end of a tile"):
        driver.submit(replace(job, steps={"A": job.steps["A"] - 1}))


def test_too_many_vectors() -> None:
    config = config_of("spmv")
    text = "A must have at most 4294967295 vectors of tokens, not 4294967296"
    with refused(ValueError, text):
        job_at(config, {"i": 1, "k": 1}, {"A": 0, "X": 0, "Y": 0}, {"A": 1 << 32})


def test_no_steps() -> None:
    config = config_of("spmv")
    driver = driver_of(config)
    job = job_at(config, {"i": 1, "k": 1}, {"A": 0, "X": 0, "Y": 0}, {"A": 0})
    with pytest.raises(JobError) as raised:
        driver.submit(job)
    assert raised.value.error == "zero_size"


@pytest.mark.parametrize("name", NAMES)
def test_levels_are_outermost_loops(name: str) -> None:
    """The steps of levels that images assume are those of the program's loops."""
    plan = config_of(name).plan
    assert plan.sparse is not None
    steps = tile_steps(plan.sparse)
    loops = outermost(plan.program)
    assert steps == {index: loops[index].step for index in steps}


# ``tilewright run einsum`` of tensors of which entries alone are stored.

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
    """All sums are empty if tensors have no entries, or if two have none in common."""
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
def test_einsum_refused(
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
