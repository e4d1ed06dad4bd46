"""``tilewright run ... --on engine``: RTL, model and cycle model agree, and with SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse.csgraph as csgraph
from scipy.spatial.distance import cdist
from tilewright.apps.common.units import engine_products as products
from tilewright.apps.graphs.problems import PROBLEMS
from tilewright.sim.engine.driver import Counts
from tilewright.verif.apps.graphs.examples import (
    DAG,
    RING,
    UNDIRECTED,
    Edges,
    random_edges,
    write_graph,
)
from tilewright.verif.kit.commands import Run, draw
from tilewright.verif.kit.sampling import slow_but

ENGINE = ("--on", "engine")
MODEL = (*ENGINE, "--backend", "model")
FLAT = (*ENGINE, "--backend", "cycles", "--memory", "flat")
SMALL = ("--set", "tile=2", "--set", "pipeline=2")
TIMED = ("cycles", "stalls", "operations", "bytes_read", "bytes_written", "jobs", "utilisation",
         "bound_cycles", "compute_cycles", "memory_cycles", "memory_bytes")  # fmt: skip
RELIABLE: Edges = [(i, j, 0.5 ** (w % 3)) for i, j, w in RING]
RELIABLE_DAG: Edges = [(i, j, 0.5 ** (w % 3)) for i, j, w in DAG]
EDGES: dict[str, Edges] = {
    "apsp": RING, "aplp": DAG, "mcp": RING, "maxrp": RELIABLE, "minrp": RELIABLE_DAG,
    "mst": UNDIRECTED, "gtc": RING,
}  # fmt: skip


def report_of(run: Run, *words: object) -> dict[str, Any]:
    """Returns the report of a run that must pass."""
    assert run(*words, "--json", run.directory / "report.json") == 0
    return run.report()


def same_time(rtl: dict[str, Any], cycles: dict[str, Any]) -> bool:
    return all(rtl[name] == cycles[name] is not None for name in TIMED)


@pytest.mark.parametrize("app", slow_but(["apsp", "mst"], PROBLEMS))
def test_every_application_on_all_backends(run: Run, app: str) -> None:
    """RTL against the model and the cycle model inside the run; afterwards against the runs of
    these alone, and the matrix unit's."""
    kind = "symmetric" if app == "mst" else "general"
    graph = write_graph(run.directory / f"{app}.mtx", EDGES[app], 6, kind)
    values = run.directory / "d.npy"
    for algorithm in ("leyzorek", "bellman-ford"):
        how = (app, graph, "--algorithm", algorithm, *SMALL)
        rtl = report_of(run, *how, *ENGINE, "-o", values)
        found = np.load(values)
        assert rtl["unit"] == "engine_simd2"
        assert rtl["config"]["managers"] == 1
        assert rtl["mismatches"] == 0
        assert rtl["checked"] == rtl["iterations"] * 36
        assert f"{6 * rtl['jobs']} counters: bit for bit equal" in run.out
        assert rtl["ratio_to_bound"] >= 1
        timed = report_of(run, *how, *FLAT)
        assert (timed["iterations"], timed["settled"]) == (rtl["iterations"], rtl["settled"])
        assert same_time(rtl, timed)
        assert "not computed" in run.out
        model = report_of(run, *how, *MODEL, "-o", values)
        np.testing.assert_array_equal(np.load(values), found)
        assert (model["cycles"], model["bound_cycles"]) == (None, None)
        assert (model["operations"], model["bytes_read"]) == (rtl["operations"], rtl["bytes_read"])
        report_of(run, *how, "--backend", "model", "-o", values)
        np.testing.assert_array_equal(np.load(values), found)


def test_shortest_paths_against_scipy(run: Run) -> None:
    """Twenty vertices, with and without the check."""
    rng = np.random.default_rng(4)
    edges = random_edges(rng, 20, 50, lambda count: rng.integers(1, 30, count))
    graph = write_graph(run.directory / "g.mtx", edges, 20)
    dense = np.full((20, 20), np.inf)
    for i, j, weight in edges:
        dense[i - 1, j - 1] = min(dense[i - 1, j - 1], weight)
    np.fill_diagonal(dense, 0)
    values = run.directory / "d.npy"
    for check in ("--convergence-check", "--no-convergence-check"):
        rtl = report_of(run, "apsp", graph, check, *SMALL, *ENGINE, "-o", values)
        expected = csgraph.shortest_path(csgraph.csgraph_from_dense(dense, null_value=np.inf))
        np.testing.assert_array_equal(np.load(values), expected)
        assert same_time(rtl, report_of(run, "apsp", graph, check, *SMALL, *FLAT))


@pytest.mark.parametrize(
    ("unit", "options"),
    [
        ("simd2", SMALL),
        pytest.param(
            "m3xu",
            ("--set", "rows=2", "--set", "cols=2", "--set", "depth=2", "--mode", "fp32",
             "--set", "modes=fp16,fp32", "--set", "managers=3"),
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_products_of_either_unit(run: Run, unit: str, options: tuple[str, ...]) -> None:
    """Runs products with C whose sizes are multiples neither of a tile nor of a beat."""
    a, b, c = (draw(seed, *shape) for seed, shape in ((1, (9, 13)), (2, (13, 7)), (3, (9, 7))))
    files = [run.save("a.npy", a), run.save("b.npy", b), "--c", run.save("c.npy", c)]
    rtl = report_of(run, "gemm", *files, "--unit", unit, *options, *ENGINE)
    assert (rtl["mismatches"], rtl["checked"]) == (0, 63)
    assert rtl["errors"]["unit"]["max"] < 1e-5
    timed = report_of(run, "gemm", *files, "--unit", unit, *options, *FLAT)
    assert same_time(rtl, timed)
    assert timed["errors"] == {}


def test_distances(run: Run) -> None:
    points, queries = (np.rint(9 * draw(seed, n, 5)) for seed, n in ((1, 17), (2, 6)))
    files = run.save("p.npy", points), run.save("q.npy", queries)
    found = run.directory / "d.npy"
    rtl = report_of(run, "knn", *files, "-k", 2, *SMALL, *ENGINE, "--distances", found)
    np.testing.assert_array_equal(np.load(found), cdist(queries, points, "sqeuclidean"))
    assert rtl["mismatches"] == 0
    assert same_time(rtl, report_of(run, "knn", *files, "-k", 2, *SMALL, *FLAT))


def test_a_wrong_result_or_counter_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of D, and one cycle."""
    honest = products._run
    a, b = run.save("a.npy", draw(1, 4, 4)), run.save("b.npy", draw(2, 4, 4))
    words = ("gemm", a, b, "--unit", "simd2", *SMALL, *ENGINE)
    calls: list[Any] = []

    def bent(driver: Any, *, what: str, **named: Any) -> Any:
        d, counts = honest(driver, **named)
        calls.append(driver)
        if len(calls) % 2:  # the model's, before the Verilog's
            return d, counts
        if what == "bit":
            d = d.copy()
            d[1, 2] ^= np.uint64(1)
        else:
            values = {name: getattr(counts[0], name) for name in Counts.__annotations__}
            counts = [Counts(**values | {"cycles": values["cycles"] + 1})]
        return d, counts

    for what in ("bit", "cycle"):
        monkeypatch.setattr(products, "_run", lambda one, what=what, **x: bent(one, what=what, **x))
        assert run(*words) == 1
        assert "1 mismatches in 16 results and 6 counters: DIFFERENT" in run.out


def test_sizes_of_the_papers(run: Run) -> None:
    """10^5 x 10^3 operands, whose values are not looked at, in two jobs; a graph of many vertices
    on two memories: no run beats its bound."""
    shapes = {"a.npy": (100_000, 1_000), "b.npy": (1_000, 16)}
    for name, shape in shapes.items():
        np.lib.format.open_memmap(run.directory / name, "w+", np.int8, shape)
    files = [run.directory / name for name in shapes]
    wide = ("--set", "tile=16", "--set", "data_bits=512", "--unit", "simd2")
    report = report_of(run, "gemm", *files, *wide, *ENGINE, "--backend", "cycles")
    assert (report["shape"], report["jobs"]) == ([100_000, 1_000, 16], 2)
    assert report["operations"] == 100_000 // 16 * 63
    assert report["bytes_once"] == 2 * (100_000 * 1_000 + 2 * 1_000 * 16) + 4 * 100_000 * 16
    assert report["ratio_to_bound"] >= 1
    assert report["bound_by"] == "memory"
    ring: Edges = [(i, i % 300 + 1, 1.0) for i in range(1, 301)]
    graph = write_graph(run.directory / "g.mtx", ring, 300)
    slowest = 0
    for memory in ("flat", "hbm", "hbm32"):
        words = ("apsp", graph, *ENGINE, "--backend", "cycles", "--memory", memory)
        report = report_of(run, *words, "--set", "managers=3", "--gigahertz", 4)
        assert (report["iterations"], report["settled"], report["hops"]) == (9, False, 299)
        assert report["ratio_to_bound"] >= 1
        assert report["microseconds"] == report["cycles"] / 4000
        assert report["cycles"] > slowest or memory == "hbm32"
        slowest = max(slowest, report["cycles"])
    plain = report_of(run, *words, "--no-convergence-check", "--algorithm", "bellman-ford")
    assert (plain["iterations"], plain["settled"], plain["hops"]) == (298, None, None)
