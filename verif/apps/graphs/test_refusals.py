"""``tilewright run`` of graphs: what is refused, in one line and before anything is built."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tilewright.verif.apps.graphs.examples import DAG, RING, Edges, write_graph
from tilewright.verif.kit.commands import MALFORMED, Run
from tilewright.verif.kit.data import data_file, needs_data

MODEL = ("--backend", "model")


@pytest.fixture(autouse=True)
def no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*arguments: Any, **named: Any) -> None:
        raise AssertionError("a refused input must not reach the unit")

    monkeypatch.setattr("tilewright.apps.common.units.matrix_unit_runs.TiledProduct", forbidden)


CYCLES = "--upper-triangle takes only edges from a lower to a higher vertex"
RELIABLE = "--weights rate or --weights share makes such of other weights"
GRAPHS: dict[str, tuple[str, Edges, str]] = {
    "negative cycle": (
        "apsp", [(1, 2, 1), (2, 3, -3), (3, 1, 1)],
        "has a cycle of negative length; shortest paths would have no end",
    ),
    "negative loop": (
        "apsp", [(1, 2, 1), (2, 2, -1)],
        "has a cycle of negative length; shortest paths would have no end",
    ),
    "cycle": (
        "aplp", RING,
        f"aplp needs a graph without cycles, but the edge 1 -> 2 lies on one; {CYCLES}",
    ),
    "loop": (
        "aplp", [(1, 2, 1), (3, 3, 1)],
        f"aplp needs a graph without cycles, but the edge 3 -> 3 lies on one; {CYCLES}",
    ),
    "unreliable cycle": (
        "minrp", [(1, 2, 0.5), (2, 1, 0.5)],
        f"minrp needs a graph without cycles, but the edge 1 -> 2 lies on one; {CYCLES}",
    ),
    "negative capacity": (
        "mcp", [(1, 2, 3), (2, 3, -2)],
        "mcp needs capacities that are not negative, but the edge 2 -> 3 has the weight -2",
    ),
    "certain failure": (
        "maxrp", [(1, 2, 0.5), (2, 3, 0)],
        f"maxrp needs reliabilities above 0 and at most 1, but the edge 2 -> 3 has the weight 0; "
        f"{RELIABLE}",
    ),
    "more than certain": (
        "minrp", DAG,
        f"minrp needs reliabilities above 0 and at most 1, but the edge 1 -> 2 has the weight 3; "
        f"{RELIABLE}",
    ),
    "directed": (
        "mst", RING,
        "mst needs a symmetric matrix, whose edges have no direction; --undirected takes every "
        "edge in both",
    ),
    "NaN": (
        "apsp", [(1, 2, 1), (3, 2, np.nan)],
        "the weight of the edge 3 -> 2 is NaN; weights must be finite numbers",
    ),
    "infinite": (
        "gtc", [(1, 2, -np.inf)],
        "the weight of the edge 1 -> 2 is infinite; weights must be finite numbers",
    ),
    "empty": ("gtc", [], "the graph is empty: there must be at least one edge"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(GRAPHS))
def test_refused_graphs(run: Run, case: str) -> None:
    app, edges, expected = GRAPHS[case]
    graph = write_graph(run.directory / "g.mtx", edges, 6)
    out = run.directory / "d.npy"
    for backend in ("model", "rtl"):
        line = run.refused(app, graph, "-o", out, "--backend", backend)
        assert line == f"{graph}: {expected}"
    assert [path.name for path in run.directory.iterdir()] == ["g.mtx"]


FORMATS: list[tuple[str, Edges, str, str]] = [
    ("apsp", [(1, 2, 70000)], "fp16",
     "weights up to 70000 exceed what fp16 holds, 65504; --set format=bf16 holds them"),
    ("apsp", [(1, 2, 40000), (2, 3, 40001)], "fp16",
     "values of paths up to 80001 exceed what fp16 holds, 65504; --set format=bf16 holds them"),
    ("aplp", [(1, 2, -60), (2, 3, -6)], "int8",
     "values of paths up to 66 exceed what int8 holds, 63; --set format=int16 holds them"),
    ("mcp", [(1, 2, 127)], "int8",
     "weights up to 127 exceed what int8 holds, 126; --set format=int16 holds them"),
    ("apsp", [(1, 2, 1e39)], "fp32",
     "weights up to 1e+39 exceed what fp32 holds, 3.40282e+38; --set format=fp64 holds them"),
    ("apsp", [(1, 2, 3e9)], "int32",
     "weights up to 3e+09 exceed what int32 holds, 1.07374e+09; --set format=bf16 holds them"),
    ("mcp", [(1, 2, 1e-9)], "fp16",
     "weights down to 1e-09 are below the normal numbers of fp16, 6.1e-05 and more; "
     "--set format=bf16 holds them"),
    ("maxrp", [(1, 2, 0.001), (2, 3, 0.001)], "fp16",
     "values of paths down to 1e-06 are below the normal numbers of fp16, 6.1e-05 and more; "
     "--set format=bf16 holds them"),
    ("minrp", [(1, 2, 1e-30), (2, 3, 1e-30)], "fp32",
     "values of paths down to 1e-60 are below the normal numbers of fp32, 1.18e-38 and more; "
     "--set format=fp64 holds them"),
    ("maxrp", [(1, 2, 1e-200), (2, 3, 1e-200)], "fp64",
     "the reliability of a path is e^-921, which no format holds; at least e^-700 is needed"),
    ("apsp", [(1, 2, 0.5), (2, 3, 1)], "int16",
     "1 of 2 weights are not integers, which int16 needs; --set format=fp16 holds them"),
    ("apsp", [(1, 2, 0.1), (2, 3, 0.2), (3, 1, -0.3)], "bf16",
     "rounded to bf16, the weights have a cycle of negative length; choose a wider format"),
]  # fmt: skip


@pytest.mark.parametrize(("app", "edges", "fmt", "expected"), FORMATS)
def test_formats_that_cannot(run: Run, app: str, edges: Edges, fmt: str, expected: str) -> None:
    graph = write_graph(run.directory / "g.mtx", edges, 3)
    assert run.refused(app, graph, "--set", f"format={fmt}") == f"{graph}: {expected}"


def test_refused_files(run: Run) -> None:
    mtx = run.directory / "g.mtx"
    header = "%%MatrixMarket matrix coordinate real general\n"
    for content, expected in [
        (f"{header}2 3 1\n1 2 1\n", "an adjacency matrix must be square, not 2 x 3"),
        (f"{header}0 0 0\n", "must have at least one vertex"),
        (f"{header}3 3 0\n", "the graph is empty: there must be at least one edge"),
        (f"{header}2 2 1\n1 3 1\n", "line 3: column index '3' must be an integer in 1..2"),
        ("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 1\n",
         "holds complex numbers; weights must be real"),
        (f"{header}5000 5000 1\n1 2 1\n",
         "5000 vertices are too many for the rtl backend, which takes at most 1024; each "
         "iteration would be 1,953,125,000 operations of the unit; run sssp finds paths from one "
         "vertex"),
    ]:  # fmt: skip
        mtx.write_text(content)
        assert run.refused("apsp", mtx) == f"{mtx}: {expected}"
    for array, expected in [
        (np.ones((2, 3)), "an adjacency matrix must be square, not 2 x 3"),
        (np.ones(4), "must hold a matrix (2 dimensions), not 1 dimension"),
        (np.zeros((0, 0)), "must have at least one vertex"),
        (np.zeros((3, 3)), "the graph is empty: there must be at least one edge"),
        (np.full((2, 2), np.nan),
         "the weight of the edge 1 -> 1 is NaN; weights must be finite numbers"),
        (np.ones((2, 2)) * 1j, "holds complex numbers; weights must be real"),
        (np.zeros((1025, 1025)),
         "1025 vertices are too many for the rtl backend, which takes at most 1024; each "
         "iteration would be 16,974,593 operations of the unit; run sssp finds paths from one "
         "vertex"),
    ]:  # fmt: skip
        path = run.save("g.npy", array)
        assert run.refused("apsp", path) == f"{path}: {expected}"
    assert run.refused("gtc", run.directory / "g.txt") == (
        f"{run.directory}/g.txt: must be a .npy, .npz, .mtx or .mtx.gz file, not '.txt'"
    )


_NOT_SQUARE = "an adjacency matrix must be square, not 3 x 4"
NO_GRAPHS = MALFORMED | {"mangled11.mtx": _NOT_SQUARE, "mangled13.mtx": _NOT_SQUARE}
"""The shape comes before the entries."""


@needs_data
@pytest.mark.parametrize("name", NO_GRAPHS)
def test_malformed_files(run: Run, name: str) -> None:
    path = data_file(f"malformed/{name}")
    assert run.refused("apsp", path, *MODEL).startswith(f"{path}: {NO_GRAPHS[name]}")


def test_refused_words(run: Run) -> None:
    graph = write_graph(run.directory / "g.mtx", DAG, 6)
    here = run.directory
    for arguments, expected in [
        (("--algorithm", "floyd"),
         "--algorithm must be one of leyzorek, bellman-ford, not 'floyd'"),
        (("--weights", "log"), "--weights must be one of given, rate, share, not 'log'"),
        (("--undirected", "--upper-triangle"),
         "--undirected and --upper-triangle exclude each other"),
        (("--unit", "m3xu"), "unit must be one that computes minplus for apsp (simd2), not 'm3xu'"),
        (("--unit", "gpu"), "unit must be one that computes minplus for apsp (simd2), not 'gpu'"),
        (("--set", "ops=mma,maxplus"), "`ops` must include minplus for apsp, not 'mma,maxplus'"),
        (("--set", "format=fp8e4m3"),
         "`format` must be one with infinities for apsp, which pads with them, not 'fp8e4m3'"),
        (("--set", "sparsity=2:4"), "`sparsity` must be none to run matrices, not '2:4'"),
        (("--backend", "fpga"), "backend must be one of rtl, model, not 'fpga'"),
        (("-o", here / "d.txt"),
         f"{here}/d.txt: must end in .npy, .npz, .mtx or .mtx.gz, not '.txt'"),
        (("--json", here / "d.txt"), f"{here}/d.txt: must end in .json, not '.txt'"),
    ]:  # fmt: skip
        assert run.refused("apsp", graph, *arguments) == expected
    assert run.refused("mst", graph, "--tree", here / "t.npy") == (
        f"{here}/t.npy: must end in .mtx or .mtx.gz, not '.npy'"
    )
    line = run.refused("aplp", write_graph(graph, [(2, 1, 1)], 2), "--upper-triangle")
    assert line == f"{graph}: has no edge from a lower to a higher vertex"
    line = run.refused("maxrp", write_graph(graph, [(2, 1, -1)], 2), "--weights", "rate")
    assert line == (
        f"{graph}: --weights rate needs weights that are not negative, but the edge 2 -> 1 has the "
        f"weight -1"
    )
    line = run.refused("maxrp", write_graph(graph, [(2, 1, 0)], 2), "--weights", "share")
    assert line == f"{graph}: --weights share needs a weight above 0"


def test_runs_that_are_too_long(run: Run) -> None:
    path = write_graph(run.directory / "p.mtx", [(i, i + 1, 1) for i in range(1, 1000)], 1000)
    for options, iterations in ((("--no-convergence-check",), 998), ((), 998)):
        line = run.refused("apsp", path, "--algorithm", "bellman-ford", *options)
        assert line == (
            f"{path}: {iterations} iterations of 15,625,000 operations are too many; at most "
            f"200,000,000 operations are allowed: choose a larger tile, or leyzorek with the "
            f"convergence check"
        )


def test_a_missing_library_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    graph = write_graph(run.directory / "g.mtx", RING, 5)
    assert run.refused("mcp", graph, *MODEL) == (
        "NetworkX is not installed; it comes with the extra `apps`: pip install 'tilewright[apps]'"
    )


@needs_data
def test_waves_are_for_short_runs(run: Run) -> None:
    karate, waves = data_file("matrices/karate.mtx"), run.directory / "w.vcd"
    assert run.refused("gtc", karate, "--waves", waves) == (
        f"{waves}: waves are for runs of at most 2000 operations, not 4374"
    )
