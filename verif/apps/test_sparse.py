"""``tilewright run`` of sparse products: real matrices on models and RTL, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from PIL import Image
from scipy.io import mmread, mmwrite
from scipy.sparse import coo_array, random_array
from tilewright.apps.sparse.session import MOST_PRODUCTS
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.verif.apps.graphs import RING, Edges, write_graph
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.malformed import MALFORMED

MODEL = ("--backend", "model")
CYCLES = ("--backend", "cycles")
TWO = ("--lanes", "2", "--set", "queues=5", "--set", "outstanding=16")
"""What the RTL is built with."""


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(tmp_path, capsys)


def _write(path: Path, rows: int, cols: int, density: float, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    matrix = random_array((rows, cols), density=density, rng=rng)
    mmwrite(path, matrix.tocoo())
    return path


def _report(run: Run, *arguments: object, status: int = 0) -> dict[str, Any]:
    file = run.directory / "report.json"
    assert run(*arguments, "--json", file) == status, run.out
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_every_semiring_agrees_with_the_reference(run: Run, semiring: str) -> None:
    a, b = (_write(run.directory / f"{n}.mtx", 40, 40, 0.15, n) for n in (1, 2))
    found = _report(run, "spgemm", a, b, "--semiring", semiring, *MODEL)
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
    found = _report(run, "spgemm", a, "--transposed-b", "--set", f"value={value}", *MODEL)
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
    found = _report(run, "spgemm", a, b, *settings)
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
    a = _write(run.directory / "a.mtx", 20, 20, 0.3, 4)
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
    pixels = np.asarray(Image.open(picture))
    assert pixels.shape == (512, 512, 3)
    painted = (pixels < 255).any(axis=2)
    assert np.argwhere(painted).tolist() == [[0, 0], [511, 511]]
    # Four entries are darker than one.
    assert pixels[0, 0].sum() < pixels[511, 511].sum()


@pytest.mark.slow
def test_figures_of_the_cycle_model(run: Run) -> None:
    a = _write(run.directory / "a.mtx", 300, 300, 0.02, 5)
    found = _report(run, "spgemm", a, *CYCLES)
    counters = found["counters"]
    matrix = mmread(a).tocsr()
    used = np.bincount(matrix.indices, minlength=300)
    assert counters["operations"] == int((used * np.diff(matrix.indptr)).sum())
    assert counters["bytes_read"] == sum(
        counters[f"bytes_{x}_{what}"] for x in "ab" for what in ("pairs", "entries")
    )
    assert found["ratio_to_bound"] > 1
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
    a = _write(run.directory / "a.mtx", 60, 60, 0.3, 6)
    settings = ("--set", "queues=3", "--set", "queue_depth=8")
    found = _report(run, "spgemm", a, *settings, *MODEL)
    assert found["overflows"] > 1
    assert found["reference"]["wrong"] == 0


@pytest.mark.slow
def test_a_matrix_without_entries(run: Run) -> None:
    empty = run.directory / "empty.mtx"
    mmwrite(empty, coo_array((5, 5)))
    found = _report(run, "spgemm", empty, *CYCLES)
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
        found = _report(run, "triangles", file, *MODEL)
        assert found["triangles"] == sum(networkx.triangles(graph).values()) // 3 > 0


def test_clusters_of_separate_cliques(run: Run) -> None:
    edges = [(base + i, base + j, 1.0) for base in (1, 6, 11) for i in range(5) for j in range(i)]
    edges += [(1, 6, 0.1), (6, 11, 0.1)]
    labels = run.directory / "labels.npy"
    file = write_graph(run.directory / "g.mtx", edges, 15)
    assert run("mcl", file, "-o", labels, *MODEL) == 0
    assert np.load(labels).ravel().tolist() == [0] * 5 + [1] * 5 + [2] * 5


REFUSED = {
    "semiring": (("--semiring", "plusplus"), "semiring must be one of mma, minplus, maxplus, "
                 "minmul, maxmul, minmax, maxmin, orand, addnorm, not 'plusplus'"),
    "backend": (("--backend", "paper"), "backend must be one of rtl, cycles, model, not 'paper'"),
    "memory": ((*CYCLES, "--memory", "tape"), "memory must be one of hbm, hbm32, flat, "
               "not 'tape'"),
    "memory of the rtl": (("--memory", "hbm"), "memory must be flat with the rtl backend, "
                          "not 'hbm'"),
    "twice": (("--lanes", "2", "--set", "lanes=4"), "--lanes and a setting of `lanes` exclude "
              "each other"),
    "lanes": (("--set", "lanes=3", "--set", "channels=2"), "matraptor: `channels` must divide "
              "`lanes` or be a multiple of it, 3, not 2"),
    "entries": (("--set", "value=fp64", "--set", "data_bits=64"), "matraptor: `data_bits` must be "
                "at least 128 for entries of fp64, not 64"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_options(run: Run, case: str) -> None:
    a = _write(run.directory / "a.mtx", 5, 5, 0.5, 1)
    arguments, line = REFUSED[case]
    output = run.directory / "c.mtx"
    assert run.refused("spgemm", a, *arguments, "-o", output) == line
    assert not output.exists()


FIXED = {
    "mcl": (("mcl",), "mma", "mcl"),
    "triangles": (("triangles",), "mma", "triangles"),
    "apsp": (("apsp", "--sparse"), "minplus", "apsp --sparse"),
}


@pytest.mark.parametrize("case", FIXED)
def test_a_semiring_that_an_application_cannot_take(run: Run, case: str) -> None:
    """From --set or a file; its own may be named."""
    words, semiring, name = FIXED[case]
    file, toml = write_graph(run.directory / "g.mtx", RING, 5), run.directory / "unit.toml"
    for wrong in ("maxmin", "x"):
        toml.write_text(f'semiring = "{wrong}"\n')
        for given in (("--set", f"semiring={wrong}"), ("-c", toml)):
            line = run.refused(*words, file, *given, *MODEL)
            if wrong == "x":
                assert line.endswith("minmax, maxmin, orand, addnorm, not 'x'")
            else:
                assert line == f"`semiring` must be {semiring} for {name}, not 'maxmin'"
    assert run(*words, file, "--set", f"semiring={semiring}", *MODEL) == 0


def test_the_accelerator_of_sparse_paths(run: Run) -> None:
    graph = write_graph(run.directory / "ring.mtx", RING, 5)
    options = ("--lanes", "2", "--memory", "hbm32", "--gigahertz", "1.5", "--backend", "model")
    found = _report(run, "apsp", graph, "--sparse", *options)
    assert (found["config"]["lanes"], found["config"]["channels"]) == (2, 2)
    assert (found["memory"], found["gigahertz"]) == ("hbm32", 1.5)
    for option, value in (("lanes", 2), ("memory", "flat"), ("gigahertz", 2.0)):
        assert run.refused("apsp", graph, f"--{option}", value, *MODEL) == (
            f"--{option} is for sparse products only: it must come with --sparse, not alone, as "
            f"{value!r}"
        )
    assert run.refused("apsp", graph, "--sparse", "--lanes", 99, *MODEL) == (
        "matraptor: `lanes` must be an integer in 1..16, not 99"
    )
    line = run.refused("apsp", graph, "--sparse", "--algorithm", "floyd", *MODEL)
    assert line == "--algorithm must be one of leyzorek, bellman-ford, not 'floyd'"


def test_refused_operands(run: Run) -> None:
    a = _write(run.directory / "a.mtx", 5, 4, 0.5, 1)
    assert run.refused("spgemm", a) == (f"{a}: must have 4 rows, as many as {a} has columns, not 5")
    wide = _write(run.directory / "wide.mtx", 70000, 70000, 1e-8, 1)
    assert run.refused("spgemm", wide, "--set", "index_bits=16", *MODEL) == (
        f"{wide}: must have between 1 and 65536 rows with `index_bits` 16, not 70000"
    )
    empty = run.directory / "none.mtx"
    empty.write_text("%%MatrixMarket matrix coordinate real general\n0 0 0\n")
    line = run.refused("spgemm", empty, *MODEL)
    assert line == f"{empty}: must have between 1 and 4294967296 rows with `index_bits` 32, not 0"
    complex_file = run.directory / "complex.mtx"
    mmwrite(complex_file, coo_array(np.eye(3) * 1j))
    line = run.refused("spgemm", complex_file, *MODEL)
    assert line == f"{complex_file}: holds complex numbers; values must be real"


def test_refused_products(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    a = _write(run.directory / "a.mtx", 30, 30, 0.5, 1)
    monkeypatch.setitem(MOST_PRODUCTS, "model", 1000)
    line = run.refused("spgemm", a, *MODEL)
    assert line.endswith(
        "products are too many for the model backend, which takes at most 1,000 of a multiplication"
    )


def test_refused_graphs(run: Run) -> None:
    negative = write_graph(run.directory / "n.mtx", [(1, 2, 1), (2, 3, -3), (3, 1, 1)], 3)
    line = run.refused("apsp", negative, "--sparse", *MODEL)
    assert line.endswith("has a cycle of negative length; shortest paths would have no end")
    line = run.refused("mcl", negative, *MODEL)
    assert line.endswith("mcl needs weights that are not negative, but the edge 2 -> 3 has -3")
    ring = write_graph(run.directory / "ring.mtx", RING, 5)
    assert run.refused("apsp", ring, "--sparse", "--unit", "matraptor", *MODEL) == (
        "unit must not be given with --sparse, not 'matraptor'"
    )
    line = run.refused("mcl", ring, "--set", "value=int32", *MODEL)
    assert line == "`value` must be a float format for mcl, not 'int32'"


@needs_data
@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused(run: Run, name: str) -> None:
    file = data_file(f"malformed/{name}")
    line = run.refused("spgemm", file, *MODEL, "-o", run.directory / "c.mtx")
    assert line.startswith(f"{file}: {MALFORMED[name]}")
    assert [*run.directory.iterdir()] == []


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["karate", "west0067", "LFAT5", "lp_afiro", "olm1000"])
def test_real_matrices_on_rtl(run: Run, name: str) -> None:
    file = data_file(f"matrices/{name}.mtx")
    found = _report(run, "spgemm", file, "--transposed-b", *TWO)
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
    found = _report(run, "spgemm", corner, *TWO)
    assert found["mismatches"] == 0 < found["checked"]
    assert found["reference"]["wrong"] == 0


@needs_data
@pytest.mark.slow
def test_applications_on_rtl(run: Run) -> None:
    karate = data_file("matrices/karate.mtx")
    found = _report(run, "triangles", karate, *TWO, "--set", "value=fp32")
    assert (found["triangles"], found["mismatches"]) == (45, 0)
    found = _report(run, "mcl", karate, *TWO)
    assert (found["same"], found["mismatches"]) == (True, 0)
    shallow = ("lanes=2", "channels=2", "queues=5", "queue_depth=24", "outstanding=4",
               "data_bits=64")  # fmt: skip
    settings = [word for setting in shallow for word in ("--set", setting)]
    found = _report(run, "apsp", karate, "--sparse", *settings)
    assert found["overflows"] > 0
    assert found["mismatches"] == 0 == found["agreement"]["wrong"]
    assert found["checked"] > 1156
