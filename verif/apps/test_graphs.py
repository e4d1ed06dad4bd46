"""``tilewright run apsp|aplp|mcp|maxrp|minrp|mst|gtc``: closures of graphs on a semiring unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tilewright.apps.common.matrix_files import read_matrix
from tilewright.apps.common.picture import colours
from tilewright.apps.graphs import paths
from tilewright.apps.graphs.problems import PROBLEMS
from tilewright.verif.apps.graphs import (
    DAG,
    RING,
    UNDIRECTED,
    Edges,
    best_paths,
    both_ways,
    random_edges,
    write_graph,
)
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import slow_but

MODEL = ("--backend", "model")
SMALL = ("--set", "tile=2", "--set", "pipeline=2")
RELIABLE: Edges = [(i, j, 0.5 ** (w % 3)) for i, j, w in RING]
RELIABLE_DAG: Edges = [(i, j, 0.5 ** (w % 3)) for i, j, w in DAG]
EXAMPLES: dict[str, tuple[Edges, int, str]] = {
    "apsp": (RING, 5, "general"),
    "aplp": (DAG, 6, "general"),
    "mcp": (RING, 5, "general"),
    "maxrp": (RELIABLE, 5, "general"),
    "minrp": (RELIABLE_DAG, 6, "general"),
    "mst": (UNDIRECTED, 6, "symmetric"),
    "gtc": (RING, 5, "general"),
}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(tmp_path, capsys)


def closure(run: Run, app: str, graph: Path, *options: object) -> NDArray[np.float64]:
    """The values that a run writes; it must pass."""
    out = run.directory / "d.npy"
    assert run(app, graph, "-o", out, "--json", run.directory / "report.json", *options) == 0
    values: NDArray[np.float64] = np.load(out)
    return values


def example(run: Run, app: str) -> tuple[Path, NDArray[np.float64]]:
    """A graph and the values of its paths, by enumeration; all exact in fp16."""
    edges, vertices, symmetry = EXAMPLES[app]
    path = write_graph(run.directory / f"{app}.mtx", edges, vertices, symmetry)
    directed = both_ways(edges) if symmetry == "symmetric" else edges
    return path, best_paths(app, directed, vertices)


@pytest.mark.parametrize("check", ["--convergence-check", "--no-convergence-check"])
@pytest.mark.parametrize("algorithm", ["leyzorek", "bellman-ford"])
@pytest.mark.parametrize("app", list(PROBLEMS))
def test_every_application(run: Run, app: str, algorithm: str, check: str) -> None:
    graph, expected = example(run, app)
    found = closure(run, app, graph, *MODEL, "--algorithm", algorithm, check)
    np.testing.assert_array_equal(found, expected)
    report = run.report()
    vertices = len(expected)
    worst = {"leyzorek": {5: 2, 6: 3}, "bellman-ford": {5: 3, 6: 4}}[algorithm][vertices]
    if check == "--no-convergence-check":
        assert (report["iterations"], report["settled"]) == (worst, None)
        assert "(not checked)" in run.out
    else:
        assert report["iterations"] <= worst
        assert report["settled"] or report["iterations"] == worst
    assert report["operations"] == report["iterations"] * 8
    # A reference by logarithms is not quite exact itself.
    assert report["relative_error"]["max"] <= (1e-15 if "rp" in app else 0)
    assert report["agreement"]["wrong"] == 0
    assert (report["app"], report["mode"]) == (app, PROBLEMS[app].operation)


def test_every_application_on_rtl(run: Run) -> None:
    """The same values as the model's, every operation compared; sizes that fill no tile."""
    for app in PROBLEMS:
        graph, expected = example(run, app)
        found = closure(run, app, graph, *SMALL)
        np.testing.assert_array_equal(found, expected)
        report = run.report()
        assert report["backend"] == "rtl"
        tiles = -(-len(expected) // 2)
        assert report["operations"] == report["iterations"] * tiles**3
        assert (report["checked"], report["mismatches"]) == (report["operations"] * 4, 0)
        assert report["cycles"] >= report["operations"]
        assert "bit for bit equal" in run.out
        np.testing.assert_array_equal(found, closure(run, app, graph, *SMALL, *MODEL))


@needs_data
def test_a_long_closure_fills_the_unit(run: Run) -> None:
    karate = data_file("matrices/karate.mtx")
    rtl = closure(run, "apsp", karate, *SMALL)
    report = run.report()
    assert report["utilisation"] > 0.99
    assert report["cycles"] * 0.99 < report["operations"] == 4 * 17**3
    np.testing.assert_array_equal(rtl, closure(run, "apsp", karate, *SMALL, *MODEL))


@pytest.mark.parametrize("app", list(PROBLEMS))
def test_random_graphs(run: Run, app: str) -> None:
    """Against enumeration; parallel edges, loops and edges of weight 0 among them."""
    problem, generator = PROBLEMS[app], np.random.default_rng(list(PROBLEMS).index(app))
    lowest = {"any": -2, "not negative": 0, "ignored": -2}
    for algorithm in ("leyzorek", "bellman-ford"):
        for _ in range(4):
            vertices = int(generator.integers(3, 8))

            def draw(count: int) -> NDArray[Any]:
                if problem.weights == "reliability":
                    return 0.5 ** generator.integers(0, 2, count)
                low = 0 if app == "apsp" else lowest[problem.weights]
                return generator.integers(low, 6, count)

            edges = random_edges(generator, vertices, 3 * vertices, draw)
            if problem.acyclic:
                edges = [(min(i, j), max(i, j), w) for i, j, w in edges if i != j]
            options = ("--undirected",) if problem.undirected else ()
            graph = write_graph(run.directory / "g.mtx", edges, vertices)
            found = closure(run, app, graph, *MODEL, *options, "--algorithm", algorithm)
            directed = both_ways(edges) if options else edges
            np.testing.assert_array_equal(found, best_paths(app, directed, vertices))


def test_negative_cycles_are_found(run: Run) -> None:
    """Refused exactly where NetworkX finds one; else as its Floyd-Warshall algorithm says."""
    networkx = pytest.importorskip("networkx")
    generator = np.random.default_rng(9)
    refused = 0
    for _ in range(20):
        edges = random_edges(generator, 6, 9, lambda n: generator.integers(-2, 7, n))
        network = networkx.DiGraph()
        network.add_nodes_from(range(1, 7))
        for i, j, w in sorted(edges, reverse=True):  # of parallel edges the lightest
            network.add_edge(i, j, weight=w)
        graph = write_graph(run.directory / "g.mtx", edges, 6)
        if networkx.negative_edge_cycle(network):
            refused += 1
            line = run.refused("apsp", graph, *MODEL)
            assert line.endswith("has a cycle of negative length; shortest paths would have no end")
            continue
        expected = networkx.floyd_warshall_numpy(network)
        np.fill_diagonal(expected, 0)
        np.testing.assert_array_equal(closure(run, "apsp", graph, *MODEL), expected)
    assert 3 < refused < 17


def test_dense_matrices(run: Run) -> None:
    """Zeros and infinities are no edges; a Matrix Market array is read as a .npy file is."""
    matrix = np.array([[0, 2, np.inf], [0, 7, 3], [1, -np.inf, 0]])
    expected = [[0, 2, 5], [4, 0, 3], [1, 3, 0]]
    np.testing.assert_array_equal(closure(run, "apsp", run.save("g.npy", matrix), *MODEL), expected)
    assert run.report()["edges"] == 4
    listed = "\n".join(str(x) for x in matrix.T.ravel())
    array = run.directory / "g.mtx"
    array.write_text(f"%%MatrixMarket matrix array real general\n3 3\n{listed}\n")
    np.testing.assert_array_equal(closure(run, "apsp", array, *MODEL), expected)


def test_directions(run: Run) -> None:
    edges: Edges = [(1, 2, 3), (2, 1, 1), (3, 2, 2)]
    graph = write_graph(run.directory / "g.mtx", edges, 3)
    both = closure(run, "apsp", graph, *MODEL, "--undirected")
    np.testing.assert_array_equal(both, [[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    upper = closure(run, "aplp", graph, *MODEL, "--upper-triangle")
    inf = np.inf
    np.testing.assert_array_equal(upper, [[0, 3, -inf], [-inf, 0, -inf], [-inf, -inf, 0]])
    widest = closure(run, "mcp", graph, *MODEL, "--undirected")
    np.testing.assert_array_equal(widest, [[inf, 3, 2], [3, inf, 2], [2, 2, inf]])


def test_critical_path(run: Run) -> None:
    graph, _ = example(run, "aplp")
    closure(run, "aplp", graph, *MODEL)
    assert run.report()["critical_path"] == {"vertices": [1, 3, 4, 5], "length": 8, "reference": 8}
    assert "1 -> 3 -> 4 -> 5" in run.out
    long = write_graph(run.directory / "l.mtx", [(i, i + 1, 1) for i in range(1, 20)], 20)
    closure(run, "aplp", long, *MODEL)
    assert "1 -> 2 -> 3 -> 4 -> 5 -> 6 -> ... -> 16 -> 17 -> 18 -> 19 -> 20" in run.out


def test_spanning_forest(run: Run) -> None:
    """Equal weights, weights of 0 and several components; the forest as a file."""
    graph, _ = example(run, "mst")
    tree = run.directory / "tree.mtx"
    closure(run, "mst", graph, *MODEL, "--tree", tree)
    assert run.report()["forest"] == {
        "edges": 4, "weight": 8.0, "candidates": 4, "reference_edges": 4, "reference_weight": 8.0,
    }  # fmt: skip
    lines = tree.read_text().splitlines()
    assert lines[0] == "%%MatrixMarket matrix coordinate real symmetric"
    entries = [tuple(map(float, line.split())) for line in lines if not line.startswith("%")]
    assert entries == [(6, 6, 4), (3, 1, 2), (3, 2, 2), (4, 2, 5), (6, 5, -1)]
    square: Edges = [(2, 1, 0), (3, 2, 0), (4, 3, 0), (4, 1, 0)]
    closure(run, "mst", write_graph(run.directory / "s.mtx", square, 4, "symmetric"), *MODEL)
    forest = run.report()["forest"]
    assert (forest["edges"], forest["weight"], forest["candidates"]) == (3, 0.0, 4)


def test_spanning_forest_is_exact_in_any_format(run: Run) -> None:
    """Rounding makes weights equal; the forest is still the one of the weights in the file."""
    generator = np.random.default_rng(3)
    edges = [(i, j, float(generator.uniform(1, 1.5))) for i in range(2, 12) for j in range(1, i)]
    graph = write_graph(run.directory / "g.mtx", edges, 11, "symmetric")
    closure(run, "mst", graph, *MODEL, "--set", "format=fp8e5m2")
    forest = run.report()["forest"]
    assert forest["candidates"] > forest["edges"] == 10
    assert forest["weight"] == pytest.approx(forest["reference_weight"], rel=1e-14)
    assert run.err.startswith(f"warning: {graph}: 110 of 110 weights are not fp8e5m2 numbers")


def test_values_as_files_and_pictures(run: Run) -> None:
    """Matrix Market keeps infinities; small values are dark, no path is white."""
    graph, expected = example(run, "apsp")
    out, picture = run.directory / "d.mtx", run.directory / "d.png"
    assert run("apsp", graph, *MODEL, "-o", out, "--picture", picture) == 0
    np.testing.assert_array_equal(read_matrix(out), expected)
    image = pytest.importorskip("PIL.Image")
    with image.open(picture) as written:
        pixels = np.asarray(written)
    assert pixels.shape == (515, 515, 3)
    light = pixels[51::103, 51::103].astype(float) @ [0.2126, 0.7152, 0.0722]
    assert (light[np.isinf(expected)] > 254.9).all()
    order = np.argsort(expected[np.isfinite(expected)], kind="stable")
    assert (np.diff(light[np.isfinite(expected)][order]) > -1e-6).all()
    np.testing.assert_array_equal(colours(np.full((1, 2), 3.0))[0, 0], [48, 18, 59])


def test_a_wrong_value_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One value of the closure, one bit off, or with a path where there is none."""
    honest = paths.close
    for app, wrong, place in [
        ("apsp", 6.0, (0, 3)), ("apsp", np.inf, (0, 3)), ("apsp", 9.0, (0, 4)),
        ("mcp", np.nan, (0, 1)), ("gtc", 1.0, (0, 4)), ("aplp", -np.inf, (0, 4)),
        ("mst", 3.0, (0, 1)),
    ]:  # fmt: skip

        def bent(*arguments: Any, wrong: float = wrong, place: Any = place, **named: Any) -> Any:
            found = honest(*arguments, **named)
            found.values[place] = wrong
            return found

        monkeypatch.setattr(paths, "close", bent)
        graph, _ = example(run, app)
        assert run(app, graph, *MODEL, "--json", run.directory / "report.json") == 1
        assert run.report()["agreement"]["wrong"] == 1
        assert "DIFFERENT: 1 values are wrong" in run.out


def test_help_names_the_operation(run: Run) -> None:
    for app, problem in PROBLEMS.items():
        assert run(app, "--help") == 0
        assert problem.operation in run.out
        assert "--no-convergence" in run.out
        assert ("--tree" in run.out) == (app == "mst")


def slow(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


def _real(name: str) -> Path:
    return data_file(f"matrices/{name}")


@needs_data
@pytest.mark.parametrize(
    ("app", "name", "options"),
    [
        ("apsp", "karate.mtx", ()),
        ("apsp", "test_BF.mtx", ("--set", "format=int8")),
        slow("aplp", "west0067.mtx", ("--upper-triangle", "--set", "format=fp32")),
        ("mcp", "cover.mtx", ()),
        ("maxrp", "ldbc-directed-example.mtx", ("--set", "format=bf16")),
        ("minrp", "ldbc-directed-example.mtx", ("--upper-triangle",)),
        slow("mst", "west0067.mtx", ("--undirected",)),
        ("mst", "ldbc-undirected-example.mtx", ()),
        slow("gtc", "west0067.mtx", ()),
        ("gtc", "LFAT5.mtx", ()),
    ],
)
def test_real_graphs(run: Run, app: str, name: str, options: tuple[str, ...]) -> None:
    """Both algorithms, with and without the check, agree with the reference and each other."""
    values = [
        closure(run, app, _real(name), *MODEL, *options, "--algorithm", algorithm, *check)
        for algorithm in ("leyzorek", "bellman-ford")
        for check in ((), ("--no-convergence-check",))
    ]
    for other in values[1:]:
        np.testing.assert_allclose(values[0], other, rtol=0.03)


@needs_data
@pytest.mark.parametrize("app", slow_but([], PROBLEMS, ["apsp", "mst"]))
def test_larger_graphs_on_rtl(run: Run, app: str) -> None:
    """67 vertices, both algorithms, on the default unit."""
    problem = PROBLEMS[app]
    options = ["--upper-triangle"] if problem.acyclic or app == "apsp" else []
    options += ["--undirected"] if problem.undirected else []
    name = "test_FW_1000.mtx" if problem.weights == "not negative" else "west0067.mtx"
    matrix = _real(name)
    if problem.weights in ("not negative", "reliability"):
        generator = np.random.default_rng(1)
        edges = random_edges(generator, 67, 294, lambda n: generator.uniform(0.5, 1, n))
        matrix = write_graph(run.directory / "g.mtx", edges, 67)
    for algorithm in ("leyzorek", "bellman-ford"):
        closure(run, app, matrix, *options, "--algorithm", algorithm)
        report = run.report()
        assert (report["mismatches"], report["agreement"]["wrong"]) == (0, 0)
        assert report["operations"] == report["iterations"] * 17**3


@needs_data
@pytest.mark.slow
def test_long_paths_on_rtl(run: Run) -> None:
    """Integer lengths up to 3303 in fp16: rounded, by less than foreseen."""
    whole = read_matrix(_real("test_FW_1000.mtx"))
    assert whole.shape == (1000, 1000)
    matrix = run.save("g.npy", whole[:250, :250])
    values = closure(run, "apsp", matrix, "--set", "ops=minplus")
    report = run.report()
    assert report["mismatches"] == 0
    assert report["agreement"]["criterion"] == "relative"
    assert 0 < report["relative_error"]["max"] < report["agreement"]["bound"] < 0.006
    assert report["operations"] == report["iterations"] * 63**3
    assert values[np.isfinite(values)].max() == pytest.approx(3303, rel=0.006)


@pytest.mark.long
def test_a_thousand_vertices(run: Run) -> None:
    """Pairs two edges apart by way of vertex 1: the first iteration finds all paths, the second
    sees them rounded, the third changes nothing."""
    generator = np.random.default_rng(5)
    there, back = generator.integers(1, 6000, (2, 999))
    spokes: Edges = [(v, 1, float(w)) for v, w in enumerate(there, 2)]
    spokes += [(1, v, float(w)) for v, w in enumerate(back, 2)]
    graph = write_graph(run.directory / "g.mtx", spokes, 1000)
    values = closure(run, "apsp", graph, *MODEL, "--set", "tile=16", "--set", "ops=minplus")
    report = run.report()
    assert (report["iterations"], report["settled"]) == (3, True)
    assert report["agreement"]["criterion"] == "relative"
    assert 0 < report["relative_error"]["max"] < report["agreement"]["bound"] < 0.006
    assert report["operations"] == 3 * 63**3
    lengths = there[:, np.newaxis] + back
    np.fill_diagonal(lengths, 0)
    np.testing.assert_allclose(values[1:, 1:], lengths, rtol=0.006)
