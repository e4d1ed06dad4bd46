"""``tilewright run apsp|aplp|mcp|maxrp|minrp|mst|gtc``: closures of graphs on a semiring unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array
from tilewright.apps.common.matrix_files import read_matrix
from tilewright.apps.graphs.problems import PROBLEMS
from tilewright.verif.apps.graphs.examples import (
    Edges,
    best_paths,
    both_ways,
    closure,
    example,
    random_edges,
    write_graph,
)
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import slow_but

MODEL = ("--backend", "model")
SMALL = ("--set", "tile=2", "--set", "pipeline=2")


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


@pytest.mark.parametrize("app", list(PROBLEMS))
def test_random_graphs(run: Run, app: str) -> None:
    """Compares with enumeration; the graphs have parallel edges, loops and edges of weight 0."""
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


def test_help_names_the_operation(run: Run) -> None:
    for app, problem in PROBLEMS.items():
        assert run(app, "--help") == 0
        assert problem.operation in run.out
        assert "--no-convergence" in run.out
        assert ("--tree" in run.out) == (app == "mst")


# ``tilewright run`` of graphs: what formats hold, what they round, and by how much.


def passed(run: Run, app: str, graph: Path, *options: object) -> dict[str, Any]:
    """The report of a run that passes; its values are in d.npy."""
    words = ("-o", run.directory / "d.npy", "--json", run.directory / "report.json")
    assert run(app, graph, *MODEL, *words, *options) == 0
    return run.report()


def lengths(edges: Edges, vertices: int) -> NDArray[Any]:
    rows, cols, weights = (np.array(x) for x in zip(*edges, strict=True))
    matrix = csr_array((weights, (rows - 1, cols - 1)), shape=(vertices, vertices))
    found: NDArray[Any] = csgraph.floyd_warshall(matrix.toarray())
    return found


@pytest.mark.parametrize("algorithm", ["leyzorek", "bellman-ford"])
@pytest.mark.parametrize(
    ("fmt", "places"), [("fp8e5m2", 3), ("fp16", 11), ("bf16", 8), ("fp32", 24), ("fp64", 53)]
)
def test_rounded_sums_stay_within_their_bound(
    run: Run, fmt: str, places: int, algorithm: str
) -> None:
    """Relatively, without subnormal numbers: one rounding an iteration and one of the weights."""
    generator = np.random.default_rng(places)
    edges = random_edges(generator, 12, 30, lambda n: generator.uniform(1, 2, n))
    edges = [(i, j, w) for i, j, w in {(i, j): (i, j, w) for i, j, w in edges}.values() if i != j]
    graph = write_graph(run.directory / "g.mtx", edges, 12)
    report = passed(run, "apsp", graph, "--set", f"format={fmt}", "--algorithm", algorithm)
    agreement = report["agreement"]
    assert agreement["criterion"] == "relative"
    roundings = report["iterations"] + 1
    assert agreement["bound"] <= roundings * 2.0**-places * 2.1 + 1e-14
    expected = lengths(edges, 12)
    np.testing.assert_allclose(
        np.load(run.directory / "d.npy"), expected, rtol=roundings * 2.0**-places * 2.1 + 1e-14
    )
    assert fmt == "fp64" or report["relative_error"]["max"] > 1e-9
    assert report["relative_error"]["max"] == pytest.approx(agreement["worst"])
    if fmt == "fp64":
        assert run.err == ""
    else:
        holds = "; --set format=fp64 holds them exactly\n"
        count = f"{len(edges)} of {len(edges)} weights"
        line = f"warning: {graph}: {count} are not {fmt} numbers and are rounded{holds}"
        assert run.err == line


def test_sums_of_mixed_signs(run: Run) -> None:
    """Bounded absolutely: results near 0 have no small relative error."""
    edges: Edges = [(1, 2, 1000.1), (2, 3, -1000.0), (3, 4, 0.3), (1, 4, 7.7), (4, 5, -0.7)]
    graph = write_graph(run.directory / "g.mtx", edges, 5)
    for algorithm in ("leyzorek", "bellman-ford"):
        agreement = passed(run, "apsp", graph, "--algorithm", algorithm)["agreement"]
        assert agreement["criterion"] == "absolute"
        assert 0.09 < agreement["worst"] <= agreement["bound"] < 7
        assert "absolute error at most " in run.out


def test_integers_are_exact_until_the_significand_ends(run: Run) -> None:
    """2048 is the last integer of fp16 below which all are exact."""
    edges: Edges = [(1, 2, 1024), (2, 3, 1023), (3, 4, 1), (1, 4, 2048)]
    graph = write_graph(run.directory / "g.mtx", edges, 4)
    assert passed(run, "apsp", graph)["agreement"]["criterion"] == "exact"
    assert run.err == ""
    write_graph(graph, [*edges[:2], (3, 4, 2)], 4)
    report = passed(run, "apsp", graph)
    assert report["agreement"]["criterion"] == "relative"
    assert run.err == (
        f"warning: {graph}: values of paths are not all fp16 numbers and are rounded in every "
        f"iteration; --set format=fp32 holds them exactly\n"
    )
    assert passed(run, "apsp", graph, "--set", "format=int16")["agreement"]["criterion"] == "exact"
    assert run.err == ""
    assert np.load(run.directory / "d.npy")[0, 3] == 2049


@pytest.mark.parametrize("fmt", ["int8", "int16", "int32"])
def test_integer_formats(run: Run, fmt: str) -> None:
    """Distinguishes a path from no path, also where lengths are negative."""
    edges: Edges = [(1, 2, 5), (2, 3, -7), (3, 4, 9), (5, 1, -20), (4, 2, 2)]
    graph = write_graph(run.directory / "g.mtx", edges, 6)
    for app in ("apsp", "mst", "gtc", "aplp"):
        option = {"mst": ["--undirected"], "aplp": ["--upper-triangle"]}.get(app, [])
        report = passed(run, app, graph, *option, "--set", f"format={fmt}")
        assert report["agreement"]["criterion"] == "exact"
        values = np.load(run.directory / "d.npy")
        assert np.isinf(values[5, 0]) != (app == "gtc")


@pytest.mark.parametrize("app", ["maxrp", "minrp"])
def test_products_round_for_every_edge(run: Run, app: str) -> None:
    """The bound grows with the edges, and so may the error."""
    edges: Edges = [(i, i + 1, 0.9) for i in range(1, 9)]
    graph = write_graph(run.directory / "g.mtx", edges, 9)
    report = passed(run, app, graph, "--set", "format=fp8e5m2")
    assert 0.01 < report["agreement"]["worst"] <= report["agreement"]["bound"] < 20
    narrow = report["agreement"]["bound"]
    passed(run, app, graph, "--set", "format=fp32")
    assert run.report()["agreement"]["bound"] < 1e-5 < narrow


def test_weights_made_reliabilities(run: Run) -> None:
    edges: Edges = [(1, 2, 0.5), (2, 3, 0.25), (1, 3, 1.0), (3, 1, 0.0)]
    graph = write_graph(run.directory / "g.mtx", edges, 3)
    passed(run, "maxrp", graph, "--weights", "rate", "--set", "format=fp64")
    values = np.load(run.directory / "d.npy")
    expected = [[0, 0.5, 0.75], [0.25, 0, 0.25], [0, 0.5, 0]]
    np.testing.assert_allclose(values, np.exp(-np.array(expected)))
    write_graph(graph, edges[:3], 3)
    passed(run, "minrp", graph, "--weights", "share")
    assert np.load(run.directory / "d.npy")[0].tolist() == [1, 0.5, 0.125]


@needs_data
def test_real_graph_in_a_narrow_format(run: Run) -> None:
    report = passed(run, "apsp", data_file("matrices/ldbc-directed-example.mtx"))
    assert 0 < report["relative_error"]["mean"] < report["relative_error"]["max"] < 2e-3
    assert report["rounded_between_iterations"] > 0
    assert "fp32 values rounded to fp16" in run.out
    assert "16 of 17 weights are not fp16 numbers" in run.err


# Graphs from files of others, and large ones, on the model and on RTL.


@needs_data
def test_a_long_closure_fills_the_unit(run: Run) -> None:
    karate = data_file("matrices/karate.mtx")
    rtl = closure(run, "apsp", karate, *SMALL)
    report = run.report()
    assert report["utilisation"] > 0.99
    assert report["cycles"] * 0.99 < report["operations"] == 4 * 17**3
    np.testing.assert_array_equal(rtl, closure(run, "apsp", karate, *SMALL, *MODEL))


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
    """Rounds integer lengths up to 3303 in fp16, by less than the bound."""
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
