"""Checks that the commands of iterations refuse bad input with one line, and the program with
status 2.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from tilewright.apps.common.sizing import cure, least_value, sized
from tilewright.apps.common.units import sida_runs as session
from tilewright.cli import main
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.sida import ModelSidaConfig, SidaConfig
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.sida.apps.files import report, save_graph

APPS = ("pagerank", "bfs", "sssp", "kcore", "khop")


def matrix(run: Run, *lines: str, size: str = "3 3", kind: str = "real") -> Path:
    path = run.directory / "g.mtx"
    head = f"%%MatrixMarket matrix coordinate {kind} general\n{size} {len(lines)}\n"
    path.write_text(head + "".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize("app", APPS)
def test_files(run: Run, app: str) -> None:
    path = matrix(run, "1 2 1", size="3 4")
    assert run.refused(app, path) == f"{path}: an adjacency matrix must be square, not 3 x 4"
    path = matrix(run)
    assert run.refused(app, path) == f"{path}: the graph is empty: there must be at least one edge"
    path = matrix(run, size="0 0")
    assert run.refused(app, path) == f"{path}: must have at least one vertex"
    path = matrix(run, "1 2 nan")
    assert run.refused(app, path) == (
        f"{path}: the weight of the edge 1 -> 2 is NaN; weights must be finite numbers"
    )
    path = matrix(run, "1 2 1", "2 3 inf")
    assert run.refused(app, path) == (
        f"{path}: the weight of the edge 2 -> 3 is infinite; weights must be finite numbers"
    )
    path = matrix(run, "1 2 1 1", kind="complex")
    assert run.refused(app, path) == f"{path}: holds complex numbers; weights must be real"
    path = matrix(run, "1 2 1", size="65 65")
    assert run.refused(app, path, "--set", "vector_words=64") == (
        f"{path}: 65 vertices are too many for `vector_words` 64, elements of a vector on chip; "
        "--set vector_words=128 holds them"
    )
    limit = ("--set", "vector_words=32768", "--set", "rows_limit=32768")
    path = matrix(run, "1 2 1", size="32769 32769")
    assert run.refused(app, path, *limit) == (
        f"{path}: 32769 vertices are too many for `rows_limit` 32768; "
        "--set rows_limit=65536 holds them"
    )
    path = run.directory / "absent.mtx"
    assert run.refused(app, path) == f"{path}: cannot be read: No such file or directory"


@pytest.mark.parametrize("app", ["pagerank", "sssp"])
def test_negative_weights(run: Run, app: str) -> None:
    path = matrix(run, "1 2 1", "3 1 -0.5")
    assert run.refused(app, path) == (
        f"{path}: the weight of the edge 3 -> 1 is -0.5; weights must not be negative"
    )


@pytest.mark.parametrize(("weight", "total"), [("1e308", "inf"), ("1e-310", "2e-310")])
def test_weights_without_a_share(run: Run, weight: str, total: str) -> None:
    """The command prints only the refusal."""
    path = matrix(run, f"1 2 {weight}", f"2 1 {weight}", f"1 3 {weight}", f"3 1 {weight}")
    for app, *options in (("pagerank",), ("label", "--labels", "1")):
        assert run.refused(app, path, *options, "--backend", "model") == (
            f"{path}: the weights of vertex 1 must add up to a number that float64 holds, and 1 "
            f"over it, not to {total}"
        )


OPTIONS = [
    ("bfs", ("--source", "4"), "--source must be in 1..3, the vertices of {path}, not 4"),
    ("khop", ("--source", "0"), "--source must be an integer of at least 1, not '0'"),
    ("sssp", ("--source", "a"), "--source must be an integer of at least 1, not 'a'"),
    ("khop", ("--hops", "0"), "--hops must be an integer in 1..1000000, not '0'"),
    ("khop", ("--max-iterations", "3"),
     "--max-iterations and khop exclude each other: --hops says how many"),
    ("kcore", ("--max-iterations", "0"),
     "--max-iterations must be an integer in 1..1000000, not '0'"),
    ("pagerank", ("--alpha", "1.5"), "--alpha must be a number in 0..1, not '1.5'"),
    ("pagerank", ("--tolerance", "-1"), "--tolerance must be a number in 0..1, not '-1'"),
    ("pagerank", ("--set", "value=int32"),
     "`value` must be a format of floats for pagerank, not 'int32'"),
    ("bfs", ("--set", "semirings=mma,minplus"),
     "`semirings` must have orand for bfs, not mma, minplus alone"),
    ("sssp", ("--set", "semirings=mma"), "`semirings` must have minplus for sssp, not mma alone"),
    ("kcore", ("--backend", "gpu"), "backend must be one of rtl, cycles, model, not 'gpu'"),
    ("bfs", ("--memory", "hbm"), "memory must be flat with the rtl backend, not 'hbm'"),
    ("bfs", ("--backend", "cycles", "--memory", "dram"),
     "memory must be one of hbm, hbm32, hbm-refresh, flat, not 'dram'"),
    ("bfs", ("--backend", "cycles", "--set", "rows_limit=32768"),
     "`rows_limit` must be 0 for the cycle model, whose vectors are on chip, not 32768"),
    ("bfs", ("--gigahertz", "0"), "--gigahertz must be a number in 0.01..100, not '0'"),
    ("pagerank", ("--set", "program_words=8"),
     "`program_words` must be a power of two of at least 24, the words of the program, not 8"),
    ("bfs", ("--set", "pes=5"), "sida: `pes` must be "),
    ("bfs", ("--set", "pes=1024", "--set", "subtensor=2048"),
     "sida: `pes` must be a power of two in 4..64, not 1024; models take it: --backend cycles"),
    ("bfs", ("--set", "pes=2048"), "sida: `pes` must be a power of two in 4..64, not 2048"),
    ("bfs", ("--backend", "cycles", "--set", "pes=2048"),
     "sida: `pes` must be a power of two in 4..1024, not 2048"),
    ("bfs", ("-o", "y.txt"), "y.txt: must end in .npy, .npz, .mtx or .mtx.gz, not '.txt'"),
    ("bfs", ("--json", "y.txt"), "y.txt: must end in .json, not '.txt'"),
]  # fmt: skip


@pytest.mark.parametrize(("app", "options", "message"), OPTIONS)
def test_options(run: Run, app: str, options: tuple[str, ...], message: str) -> None:
    path = matrix(run, "1 2 1", "2 3 1")
    line = run.refused(app, path, *options)
    assert line.startswith(message.format(path=path))


def test_weights_that_are_no_integers(run: Run) -> None:
    path = matrix(run, "1 2 1.5", "2 3 1")
    assert run.refused("sssp", path, "--set", "value=int32") == (
        f"{path}: 1 of 2 values are not integers, which int32 needs"
    )


@pytest.mark.parametrize("app", ["pagerank", "kcore"])
def test_networkx_comes_before_files(run: Run, monkeypatch: pytest.MonkeyPatch, app: str) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert run.refused(app, run.directory / "absent.mtx") == (
        "NetworkX is not installed; it comes with the extra `apps`: pip install 'tilewright[apps]'"
    )


def test_a_run_that_nobody_waits_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session.MOST_ELEMENTS, "model", 1)
    path = matrix(run, "1 2 1", "2 3 1")
    assert run.refused("bfs", path, "--backend", "model") == (
        "2 elements in 1 pass are too many for the model backend, which takes at most 1; --backend "
        "cycles takes up to 500,000,000"
    )


def test_a_refusal_is_one_line_and_status_2(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    path = run.save("g.npy", np.ones((2, 3)))
    assert main(["run", "bfs", str(path), "--backend", "model"]) == 2
    said = capsys.readouterr().err.strip()
    assert said == f"error: {path}: an adjacency matrix must be square, not 2 x 3"


# Vectors of the models are as long as the data needs, and refusals name a sufficient size.

VERTICES = 20_000


@pytest.fixture
def star(run: Run) -> Path:
    """A vertex with edges to all others."""
    ends = np.arange(1, VERTICES)
    shape = (VERTICES, VERTICES)
    return save_graph(run, coo_array((np.ones(len(ends)), (np.zeros_like(ends), ends)), shape))


@pytest.mark.parametrize("backend", slow_but(["model"], ["model", "cycles"], []))
def test_chosen(run: Run, star: Path, backend: str) -> None:
    found = report(run, "bfs", star, "--backend", backend)
    assert found["config"]["vector_words"] == 32768
    assert found["sizes"] == {"vector_words": {"value": 32768, "for": f"{VERTICES} vertices"}}
    row = next(line for line in run.out.splitlines() if "vector_words" in line)
    assert row.split("│")[2].strip() == f"32768 (chosen for {VERTICES} vertices)"
    assert found["reference"]["wrong"] == 0


def test_what_the_user_sets_stays(run: Run, star: Path) -> None:
    large = report(run, "bfs", star, "--set", "vector_words=65536")
    assert (large["config"]["vector_words"], large["sizes"]) == (65536, {})
    file = run.directory / "small.toml"
    file.write_text("vector_words = 64\n")
    line = (f"{star}: {VERTICES} vertices are too many for `vector_words` 64, elements of a "
            "vector on chip; --set vector_words=32768 holds them")  # fmt: skip
    assert run.refused("bfs", star, "--backend", "model", "-c", file) == line
    cured = report(run, "bfs", star, "-c", file, "--set", "vector_words=32768")
    assert cured["reference"]["wrong"] == 0


def test_small_data_keep_the_default(run: Run) -> None:
    graph = save_graph(run, coo_array(([1.0], ([0], [1])), (3, 3)))
    found = report(run, "bfs", graph)
    assert (found["config"]["vector_words"], found["sizes"]) == (16384, {})


def test_rtl_is_refused(run: Run, star: Path) -> None:
    assert run.refused("bfs", star, "--backend", "rtl") == (
        f"{star}: {VERTICES} vertices are too many for `vector_words` 16384, elements of a vector "
        "on chip; --set vector_words=32768 holds them; --backend cycles and model choose it"
    )


def test_values() -> None:
    config = SidaConfig()
    assert least_value(config, "vector_words", 16385) == 32768
    assert least_value(config, "vector_words", 1) == 64
    assert least_value(config, "vector_words", (1 << 20) + 1) is None
    assert cure(config, "vector_words", (1 << 20) + 1) == ""
    assert least_value(ModelSidaConfig(), "vector_words", (1 << 20) + 1) == 1 << 21
    assert least_value(MatRaptorConfig(index_bits=16), "index_bits", 17) == 32
    # Subtensors of 4096 columns do not fit shorter vectors.
    assert least_value(SidaConfig(subtensor=4096), "vector_words", 100) is None
    same, chosen = sized(config, "vector_words", 16384, "rows", ())
    assert (same, chosen) == (config, ())
    other, [one] = sized(config, "vector_words", 16385, "16385 rows", ())
    assert other.vector_words == one.value == 32768
    assert one.row == ("vector_words", "32768 (chosen for 16385 rows)")
    assert sized(config, "vector_words", 16385, "rows", ("vector_words",)) == (config, ())


@needs_data
def test_a_real_graph(run: Run) -> None:
    """The graph is as large as a benchmark. Ranks settle to 1e-6 of their sum and are close to
    NetworkX's."""
    graph = data_file("matrices/p2p-Gnutella31.mtx")
    found = report(run, "pagerank", graph)
    assert found["config"]["vector_words"] == 65536
    assert found["residual"]["value"] < found["residual"]["limit"] < 1.01e-6
    assert found["iterations"] > 5
    assert found["reference"]["error"] < 1e-6
    assert found["reference"]["allowed"] < 2e-4
