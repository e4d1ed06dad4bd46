"""``tilewright run`` of sparse products: real matrices on models and RTL, and its reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.io import mmread, mmwrite
from scipy.sparse import coo_array, random_array
from tilewright.apps.common.picture import density
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.verif.apps.graphs.examples import RING, Edges, write_graph
from tilewright.verif.apps.sparse_runs import CYCLES, MODEL, TWO, report_of, write_random
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data


@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_every_semiring_agrees_with_the_reference(run: Run, semiring: str) -> None:
    a, b = (write_random(run.directory / f"{n}.mtx", 40, 40, 0.15, n) for n in (1, 2))
    found = report_of(run, "spgemm", a, b, "--semiring", semiring, *MODEL)
    assert found["reference"]["wrong"] == 0
    assert found["reference"]["structure"] is True
    assert found["counters"]["results"] == found["c"]["entries"] > 200


@pytest.mark.parametrize("value", ["fp16", "bf16", "fp64", "int32"])
def test_every_format_agrees_with_scipy(run: Run, value: str) -> None:
    a = run.directory / "a.mtx"
    matrix = random_array((50, 30), density=0.2, rng=np.random.default_rng(3))
    if value == "int32":
        matrix.data = np.rint(1000 * matrix.data)
    mmwrite(a, matrix.tocoo())
    found = report_of(run, "spgemm", a, "--transposed-b", "--set", f"value={value}", *MODEL)
    assert found["reference"] | {"largest_error": 0} == {
        "source": "SciPy", "structure": True, "wrong": 0, "overflows": 0, "vanished": 0,
        "not_finite": 0, "largest_error": 0,
    }  # fmt: skip
    assert run.err == ""


def _matrix(run: Run, name: str, values: Any) -> Path:
    file = run.directory / name
    mmwrite(file, coo_array(np.asarray(values, np.float64)))
    return file


LOSSES: dict[str, tuple[str, str, Any, Any, list[str], str]] = {
    "operands": (
        "fp16", "mma", [[1e5, 1e-9, 1.0], [0, 2049, np.nan], [0, 0, -np.inf]], np.eye(3),
        ["A: 1 of 6 values exceed the largest fp16 value 65504 and become infinite",
         "A: 1 of 6 values are too small for fp16 and become zero",
         "A: 1 of 6 values are integers that fp16 does not hold and become others",
         "A: 2 of 6 values are infinite or NaN",
         "C: 3 of 6 values are infinite or NaN"],
        "every other value equal; of 6 values 3 infinite or NaN",
    ),
    "sums": (
        "fp16", "mma", [[300, 1], [0, 1e-4]], [[300, 0], [0, 1e-4]],
        ["C: 1 of 3 values exceed the largest fp16 value 65504 and are infinite or NaN",
         "C: 1 of 3 values are too small for fp16 and are zero"],
        "of 3 values 1 overflowed, 1 vanished",
    ),
    "cancelled": (
        "fp32", "mma", [[1, 2**-24, -1]], [[1], [2**-24], [1]], [], "of what rounding explains",
    ),
    "path lengths": (
        "fp16", "minplus", [[6e4]], [[6e4]],
        ["C: 1 of 1 values exceed the largest fp16 value 65504 and are infinite or NaN"],
        "every other value equal; of 1 values 1 overflowed",
    ),
    "wrapped": (
        "int32", "mma", [[65536, 7]], [[65536], [1]],
        ["C: 1 of 1 values leave -2147483648..2147483647, the range of int32, and wrap "
         "around"],
        "every other value equal; of 1 values 1 overflowed",
    ),
    "wrapped products": (
        "int32", "minmul", [[65536, 7]], [[65536], [1]],
        ["C: 1 of 1 values leave -2147483648..2147483647, the range of int32, and wrap around"],
        "of 1 values 1 overflowed",
    ),
    "wrapped squares": (
        "int32", "addnorm", [[2**31 - 1, -5]], [[-(2**31)], [1]],
        ["C: 1 of 1 values leave -2147483648..2147483647, the range of int32, and wrap "
         "around"],
        "of 1 values 1 overflowed",
    ),
    "at the end": (
        "int32", "maxplus", [[2**31 - 1]], [[2]],
        ["C: 1 of 1 values leave -2147483648..2147483647, the range of int32, and stay at "
         "its ends"],
        "of 1 values 1 overflowed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LOSSES)
def test_what_the_format_destroys_is_told(run: Run, case: str) -> None:
    value, semiring, left, right, lines, verdict = LOSSES[case]
    a, b = _matrix(run, "a.mtx", left), _matrix(run, "b.mtx", right)
    settings = ("--semiring", semiring, "--set", f"value={value}", *MODEL)
    found = report_of(run, "spgemm", a, b, *settings)
    names = {"A:": f"{a}:", "C:": "the product of a.mtx and b.mtx:"}
    expected = [line.replace(line[:2], names[line[:2]], 1) for line in lines]
    assert run.err.splitlines() == [f"warning: {line}" for line in expected]
    assert verdict in " ".join(run.out.replace("│", " ").split())
    assert found["reference"]["wrong"] == 0
    losses = sum(found["reference"][name] for name in ("overflows", "vanished", "not_finite"))
    assert (losses > 0) == any(line.startswith("C") for line in lines)


def test_integer_formats_refuse_fractions(run: Run) -> None:
    good, output = _matrix(run, "good.mtx", np.eye(2)), run.directory / "c.mtx"
    settings = ("--set", "value=int32", "-o", output, *MODEL)
    for values, what in (
        ([[0.4, 1], [2, -1.5]], "2 of 4 values are not integers, which int32 needs"),
        ([[1, np.nan], [1, 1]],
         "1 of 4 values are not in -2147483648..2147483647, the range of int32"),
        ([[2**31, 1], [1, 1]],
         "1 of 4 values are not in -2147483648..2147483647, the range of int32"),
    ):  # fmt: skip
        bad = _matrix(run, "bad.mtx", values)
        for pair in ((bad, good), (good, bad)):
            assert run.refused("spgemm", *pair, *settings) == f"{bad}: {what}"
    assert not output.exists()


def test_rounded_weights_are_told(run: Run) -> None:
    cases: list[tuple[Edges, list[str]]] = [
        ([(1, 2, 1), (2, 3, 2)], []),
        ([(1, 2, 1e-9), (2, 3, 2)],
         ["1 of 2 weights are too small for fp16 and become zero",
          "1 of 2 weights are not fp16 numbers and are rounded; --set value=fp64 rounds least"]),
        ([(1, 2, 2048), (2, 3, 1)],
         ["values of paths are not all fp16 numbers and are rounded in every iteration; "
          "--set value=fp64 rounds least"]),
    ]  # fmt: skip
    for edges, lines in cases:
        file = write_graph(run.directory / "g.mtx", edges, 3)
        assert run("apsp", file, "--sparse", "--set", "value=fp16", *MODEL) == 0
        assert run.err.splitlines() == [f"warning: {file}: {line}" for line in lines]


def test_probabilities_that_vanish_are_told(run: Run) -> None:
    edges = [(1, 2, 1e300), (2, 3, 1e300), (3, 4, 1e292)]
    file = write_graph(run.directory / "g.mtx", edges, 4)
    assert run("mcl", file, "--set", "value=fp16", *MODEL) == 0
    assert run.err == (
        f"warning: {file}: probabilities of steps: 1 of 10 values are too small for fp16 and "
        f"become zero\n"
    )


def test_result_is_written_whole(run: Run) -> None:
    a = write_random(run.directory / "a.mtx", 20, 20, 0.3, 4)
    product = run.directory / "c.mtx"
    assert run("spgemm", a, "-o", product, "--set", "value=fp64", *MODEL) == 0
    matrix = mmread(a).tocsr()
    np.testing.assert_allclose(mmread(product).toarray(), (matrix @ matrix).toarray(), rtol=1e-14)


def test_picture_shows_where_entries_are(run: Run) -> None:
    rng = np.random.default_rng(9)
    matrix = np.zeros((1024, 1024))
    matrix[:2, :2] = 1 + rng.random((2, 2))
    matrix[1023, 1023] = 1
    file, picture = run.directory / "a.mtx", run.directory / "c.png"
    mmwrite(file, coo_array(matrix))
    assert run("spgemm", file, "--picture", picture, *MODEL) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    figure, plot = Figure(), density(coo_array(matrix @ matrix), "C")
    plot.draw(figure)
    axes, bar = figure.get_axes()
    assert axes.get_title() == "entries of C, 1,024 x 1,024, 5"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("column of C", "row of C")
    assert bar.get_ylabel() == "entries in a square of 2 x 2"
    (image,) = axes.get_images()
    counts = image.get_array()
    assert counts is not None
    assert counts.shape == (512, 512)
    assert np.argwhere(~np.ma.getmaskarray(counts)).tolist() == [[0, 0], [511, 511]]
    assert image.get_extent() == [0.5, 1024.5, 1024.5, 0.5]
    # Four entries are darker than one; white is where there is none.
    colours = image.to_rgba(counts)
    assert colours[0, 0].sum() < colours[511, 511].sum()
    assert colours[0, 1, 3] == 0


@pytest.mark.slow
def test_figures_of_the_cycle_model(run: Run) -> None:
    a = write_random(run.directory / "a.mtx", 300, 300, 0.02, 5)
    found = report_of(run, "spgemm", a, *CYCLES)
    counters = found["counters"]
    matrix = mmread(a).tocsr()
    used = np.bincount(matrix.indices, minlength=300)
    assert counters["operations"] == int((used * np.diff(matrix.indptr)).sum())
    assert counters["bytes_read"] == sum(
        counters[f"bytes_{x}_{what}"] for x in "ab" for what in ("pairs", "entries")
    )
    assert found["ratio_to_bound"] > 1
    conversion = found["conversion"]
    assert conversion["b"] is None
    assert conversion["cycles"] == conversion["a"] + conversion["c"]
    assert conversion["share"] == conversion["cycles"] / counters["cycles"]
    assert found["bound_cycles_b_once"] < found["bound_cycles"] < counters["cycles"]
    # The roofline is the bound in operations, in the memory's accesses.
    assert found["bound_gop_s"] == pytest.approx(found["gop_s"] * found["ratio_to_bound"])
    size = found["access_bytes"]
    assert (size, found["memory_bytes"] % size, found["compulsory_bytes"] % size) == (64, 0, 0)
    assert found["memory_gb_s"] <= found["peak_gb_s"] == 16 * 8
    assert found["compulsory_bytes"] <= found["memory_bytes"]
    assert found["bandwidth_utilisation"] <= found["memory_gb_s"] / found["peak_gb_s"]
    assert found["operations_per_compulsory_byte"] == pytest.approx(
        2 * counters["operations"] / found["compulsory_bytes"]
    )
    assert found["bound_by"] == "memory"
    assert found["bound_cycles_even"] <= found["bound_cycles"] == found["bound_cycles_one_job"]
    assert found["microseconds"] == pytest.approx(counters["cycles"] / 2000)


def test_overflows_are_split(run: Run) -> None:
    a = write_random(run.directory / "a.mtx", 60, 60, 0.3, 6)
    settings = ("--set", "queues=3", "--set", "queue_depth=8")
    found = report_of(run, "spgemm", a, *settings, *MODEL)
    assert found["overflows"] <= 1 < found["jobs"]
    assert found["copies"] > 0
    assert found["reference"]["wrong"] == 0


@pytest.mark.slow
def test_a_matrix_without_entries(run: Run) -> None:
    empty = run.directory / "empty.mtx"
    mmwrite(empty, coo_array((5, 5)))
    found = report_of(run, "spgemm", empty, *CYCLES)
    assert found["c"] == {"shape": [5, 5], "entries": 0}
    assert found["counters"]["operations"] == 0


def test_shortest_paths(run: Run) -> None:
    graph = write_graph(run.directory / "ring.mtx", RING, 5)
    for algorithm in ("leyzorek", "bellman-ford"):
        values = run.directory / "values.npy"
        assert run("apsp", graph, "--sparse", "--algorithm", algorithm, "-o", values, *MODEL) == 0
        dense = run.directory / "dense.npy"
        assert run("apsp", graph, "-o", dense, "--set", "format=fp32", *MODEL) == 0
        np.testing.assert_array_equal(np.load(values), np.load(dense))


def test_triangles_of_random_graphs(run: Run) -> None:
    for seed in range(3):
        graph = networkx.gnp_random_graph(40, 0.2, seed=seed)
        edges = [(u + 1, v + 1, 1.0) for u, v in graph.edges]
        file = write_graph(run.directory / "g.mtx", edges, 40)
        found = report_of(run, "triangles", file, *MODEL)
        assert found["triangles"] == sum(networkx.triangles(graph).values()) // 3 > 0


def test_clusters_of_separate_cliques(run: Run) -> None:
    edges = [(base + i, base + j, 1.0) for base in (1, 6, 11) for i in range(5) for j in range(i)]
    edges += [(1, 6, 0.1), (6, 11, 0.1)]
    labels = run.directory / "labels.npy"
    file = write_graph(run.directory / "g.mtx", edges, 15)
    assert run("mcl", file, "-o", labels, *MODEL) == 0
    assert np.load(labels).ravel().tolist() == [0] * 5 + [1] * 5 + [2] * 5


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["karate", "west0067", "LFAT5", "lp_afiro", "olm1000"])
def test_real_matrices_on_rtl(run: Run, name: str) -> None:
    file = data_file(f"matrices/{name}.mtx")
    found = report_of(run, "spgemm", file, "--transposed-b", *TWO)
    assert found["mismatches"] == 0 < found["checked"]
    assert found["reference"]["wrong"] == 0
    matrix = mmread(file).tocsr()
    used = np.bincount(matrix.indices, minlength=matrix.shape[1])
    expected = int((used * used).sum())
    if not found["overflows"]:
        assert found["counters"]["operations"] == expected


@needs_data
@pytest.mark.slow
def test_a_corner_of_a_network_on_rtl(run: Run) -> None:
    whole = mmread(data_file("matrices/p2p-Gnutella31.mtx")).tocsr()
    corner = run.directory / "corner.mtx"
    mmwrite(corner, whole[:2000, :2000].tocoo())
    found = report_of(run, "spgemm", corner, *TWO)
    assert found["mismatches"] == 0 < found["checked"]
    assert found["reference"]["wrong"] == 0


@needs_data
@pytest.mark.slow
def test_applications_on_rtl(run: Run) -> None:
    karate = data_file("matrices/karate.mtx")
    found = report_of(run, "triangles", karate, *TWO, "--set", "value=fp32")
    assert (found["triangles"], found["mismatches"]) == (45, 0)
    found = report_of(run, "mcl", karate, *TWO)
    assert (found["same"], found["mismatches"]) == (True, 0)
    shallow = ("lanes=2", "channels=2", "queues=5", "queue_depth=24", "outstanding=4",
               "data_bits=64")  # fmt: skip
    settings = [word for setting in shallow for word in ("--set", setting)]
    found = report_of(run, "apsp", karate, "--sparse", *settings)
    assert found["overflows"] > 0
    assert found["mismatches"] == 0 == found["agreement"]["wrong"]
    assert found["checked"] > 1156
