"""``tilewright run gcn --unit sida``: a graph network against SciPy, refusals, and runs on RTL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from tilewright.apps.common import session
from tilewright.apps.iterations.kmeanspp import against_draws
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.sida.iterations.seeding import Seeds
from tilewright.sim.sida.model import SidaModel
from tilewright.verif.kit.commands import Run
from tilewright.verif.sida.apps.files import report, save_graph
from tilewright.verif.sida.configs import small
from tilewright.verif.sida.iterations.solving import random_graph

UNIT = ("--unit", "sida")
CONFIG = small()
NAMES = ("pes", "subtensor", "buffer_words", "vector_words", "channels", "data_bits",
         "outstanding")  # fmt: skip
SETTINGS = tuple(word for name in NAMES for word in ("--set", f"{name}={getattr(CONFIG, name)}"))


def files(run: Run, size: int, columns: int) -> tuple[Path, Path]:
    """A directed graph, and features."""
    given = np.random.default_rng(size).normal(size=(size, columns))
    return save_graph(run, random_graph(3, size, density=0.06)), run.save("x.npy", given)


def plainly(graph: Path, features: Path, widths: tuple[int, int], seed: int) -> Any:
    """Computes the network with dense NumPy arrays."""
    given = np.load(features)
    adjacency = (mmread(graph).toarray() != 0) | np.eye(len(given), dtype=bool)
    roots = 1 / np.sqrt(adjacency.sum(axis=1))
    whole = roots[:, None] * adjacency * roots
    draws = np.random.default_rng(seed)
    first, second = (
        draws.standard_normal(shape) / np.sqrt(shape[0]) for shape in ((given.shape[1], widths[0]),
                                                                       widths)
    )  # fmt: skip
    return whole @ (np.maximum(whole @ (given @ first), 0) @ second)


@pytest.mark.parametrize(("value", "error"), [("fp32", 1e-6), ("fp64", 1e-14), ("fp16", 1e-2)])
@pytest.mark.parametrize("pes", [16, 64])
def test_networks(run: Run, value: str, error: float, pes: int) -> None:
    """Features as a matrix, and as columns where many elements are multiplied at once."""
    graph, features = files(run, 60, 11)
    out = run.directory / "y.npy"
    words = ("gcn", graph, features, *UNIT, "--hidden", 5, "--classes", 4, "--seed", 9)
    found = report(run, *words, "--set", f"value={value}", "--set", f"pes={pes}", "-o", out)
    expected = plainly(graph, features, (5, 4), 9)
    assert np.load(out).dtype == (np.float64 if value == "fp64" else np.float32)
    assert np.load(out).shape == (60, 4)
    assert np.abs(np.load(out) - expected).max() < error
    assert found["reference"]["wrong"] == 0
    assert 0 < found["reference"]["error"] < found["reference"]["allowed"]
    over_matrix = pes == 16 and value != "fp64"
    assert found["features"]["over_matrix"] == over_matrix
    assert found["features"]["values"] == 60 * 11
    passes, products = (5 + 3, 9 + 5) if over_matrix else (5, 9)
    assert (found["iterations"], found["passes"], found["wasted"]) == (products, passes, 0)
    # 11 x 5 and 5 x 4 weights in blocks of 8 x 4.
    assert found["jobs"] == passes + (1 if over_matrix else 2 * 2 + 1)
    counts, elements = found["counters"], found["graph"]["values"]
    assert counts["elements"] == 5 * elements + over_matrix * 3 * 660
    assert counts["operations"] == 2 * (9 * elements + over_matrix * 5 * 660)
    assert (found["hidden"], found["classes"], found["seed"]) == (5, 4, 9)
    assert (found["features"]["columns"], found["parts"]) == (11, None)
    assert f"products      │ {products} in {passes} passes, {found['jobs']} jobs" in run.out


def test_sparse_features(run: Run) -> None:
    """The unit does not read absent features. There may be no feature at all, or more features than
    vertices."""
    graph, _ = files(run, 40, 3)
    for given, how in (
        (np.eye(40), "a matrix, two columns of weights a pass"),
        (np.zeros((40, 20)), "columns"),
        (np.eye(40, 41), "columns"),
    ):
        features = save_graph(run, given, "x.mtx")
        found = report(run, "gcn", graph, features, *UNIT)
        assert found["reference"]["wrong"] == 0
        assert found["features"]["values"] == np.count_nonzero(given)
        assert f"{np.count_nonzero(given)} that are not 0; read as {how}" in run.out
        passes = 12 + 8 * (how != "columns")
        assert found["passes"] == passes
        elements = 12 * found["graph"]["values"] + 8 * (how != "columns") * 40
        assert found["counters"]["elements"] == elements


def test_both_units_agree(run: Run) -> None:
    graph, features = files(run, 40, 6)
    results = []
    for unit in (UNIT, ()):
        out = run.directory / "y.mtx"
        found = report(run, "gcn", graph, features, *unit, "-o", out)
        assert found["reference"]["wrong"] == 0
        results.append(mmread(out))
    assert np.abs(results[0] - results[1]).max() < 1e-6


@pytest.mark.long
def test_half_of_the_bytes_on_the_cycle_model(run: Run) -> None:
    """Two columns a pass read the graph half as often as one does."""
    graph, features = files(run, 64, 9)
    words = ("gcn", graph, features, *UNIT, *SETTINGS, "--hidden", 4, "--classes", 2)
    results = []
    for options in (("--backend", "cycles", "--memory", "flat"), ()):
        out = run.directory / "y.npy"
        found = report(run, *words, "-o", out, *options)
        results.append(np.load(out))
        if options:
            parts, counts = found["parts"], found["counters"]
            twice, once = (
                parts["graph"][name] + parts["features"][name]
                for name in ("bytes_matrix", "bytes_one_by_one")
            )
            assert 2 * (twice - counts["bytes_again"]) == once > 0
            assert sum(part["cycles"] for part in parts.values()) == counts["cycles"]
            assert (parts["graph"]["jobs"], parts["graph"]["products"]) == (3, 6)
            assert parts["graph"]["jobs"] + parts["features"]["jobs"] == found["passes"]
            assert parts["weights"]["jobs"] == found["jobs"] - found["passes"] > 0
            # Elements' rows and values, at least.
            assert parts["graph"]["bytes_matrix"] >= 3 * 8 * found["graph"]["values"]
            assert parts["weights"]["bytes_written"] < counts["bytes_written"]
            assert found["limits"]["oracle"]["cycles"] < counts["cycles"]
            assert "6 passes of one product read" in run.out
    assert (results[0] == results[1]).all()


@pytest.mark.long
def test_on_rtl(run: Run) -> None:
    """Every vector, scalar and counter that does not depend on time is the model's."""
    graph, columns = files(run, 50, 7)
    for features, over_matrix in ((columns, False), (run.save("e.npy", np.eye(50, 9)), True)):
        words = ("gcn", graph, features, *UNIT, *SETTINGS, "--hidden", 3, "--classes", 2)
        found = report(run, *words, "--backend", "rtl")
        assert found["mismatches"] == 0
        assert found["checked"] > 50 * 11
        assert found["reference"]["wrong"] == 0
        parts = found["parts"]
        assert [parts[name]["jobs"] for name in ("graph", "features", "weights")] == [
            3, 2 * over_matrix, 2 - over_matrix,
        ]  # fmt: skip
        assert found["iterations"] == 5 + 3 * over_matrix
        assert sum(part["cycles"] for part in parts.values()) == found["counters"]["cycles"]
        assert "bit for bit equal" in run.out


def test_a_device_that_is_wrong(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(SidaModel):
        def _job(self) -> tuple[str, int, dict[str, int]]:
            found = super()._job()
            self.memory[self._values["VECTOR_0"] + 6] ^= 64
            return found

    monkeypatch.setattr(session, "opened", lambda one, _, size: Wrong(one.config, size))
    found = report(run, "gcn", *files(run, 30, 4), *UNIT, status=1)
    assert found["reference"]["wrong"] == 1
    assert "DIFFERENT" in run.out


def test_refusals(run: Run) -> None:
    graph, features = files(run, 65, 3)
    refused: Any = lambda *words: run.refused("gcn", graph, features, *words)  # noqa: E731
    assert refused("--unit", "m3xu") == "--unit of gcn must be tensaurus or sida, not 'm3xu'"
    for option in (("--dense",), ("--explain",), ("--tile", "i=4")):
        assert refused(*UNIT, *option) == f"{option[0]} is not for sida, which has no tiles"
    assert refused(*UNIT, "--set", "value=int32") == (
        "`value` must be a format of floats for gcn, not 'int32'"
    )
    assert refused(*UNIT, "--set", "semirings=minplus") == (
        "`semirings` must have mma for gcn, not minplus alone"
    )
    assert refused(*UNIT, "--set", "vector_words=64") == (
        f"{graph}: 65 vertices are too many for `vector_words` 64, elements of a vector on chip; "
        "--set vector_words=128 holds them"
    )
    assert refused(*UNIT, "--backend", "model", "--set", "program_words=8") == (
        "`program_words` must be a power of two of at least 9, the words of the program, not 8"
    )
    assert refused(*UNIT, "--hidden", 4096, "--classes", 4096) == (
        "1,090,519,040 products with weights are too many for the rtl backend, which takes at "
        "most 50,000,000; --backend model takes up to 2,000,000,000"
    )
    short = run.save("short.npy", np.ones((3, 2)))
    assert run.refused("gcn", graph, short, *UNIT) == (
        f"{short}: must have 65 rows, as {graph} has vertices, not 3"
    )
    given = np.ones((65, 2), complex)
    given[7, 1] = 2j
    complex_ = run.save("complex.npy", given)
    assert run.refused("gcn", graph, complex_, *UNIT) == (
        f"{complex_}: values must be real and finite, not 2j as in row 7, column 1, from 0"
    )
    none = run.save("none.npy", np.zeros((0, 0)))
    assert run.refused("gcn", none, features, *UNIT) == (
        f"{none}: a graph must have at least 1 vertex, not 0"
    )
    large = run.save("large.npy", np.full((65, 3), 7e4))
    assert run.refused("gcn", graph, large, *UNIT, "--set", "value=fp16") == (
        f"{large}: 195 of 195 values exceed the largest fp16 value 65504"
    )
    large = run.save("large.npy", np.full((65, 3), 6e4))
    said = run.refused("gcn", graph, large, *UNIT, "--set", "value=fp16")
    assert said.startswith(f"{large}: sums of layer 1 reach ")
    assert said.endswith(", more than the largest fp16 value 65504")
    assert refused(*UNIT, "-o", "y.txt").startswith("y.txt: ")


# ``tilewright run kmeanspp``: seeds and distances against SciPy, refusals, and runs on RTL.


def cloud(points: int, features: int) -> Any:
    rng = np.random.default_rng(points)
    return csr_array(rng.normal(size=(points, features)) * (rng.random((points, features)) < 0.3))


def plainly_kmeanspp(points: Any, count: int, seed: int) -> tuple[list[int], Any]:
    """k-means++ by NumPy: the seeds, and each point's squared distance to the nearest."""
    rng = np.random.default_rng(seed)
    distances = cdist(points.toarray(), points.toarray(), "sqeuclidean")
    chosen = [int(rng.integers(len(distances)))]
    while len(chosen) < count:
        nearest = distances[:, chosen].min(axis=1)
        chosen.append(int(np.argmax(np.cumsum(nearest) / nearest.sum() > rng.random())))
    return chosen, distances[:, chosen].min(axis=1)


@pytest.mark.parametrize("shape", [(70, 70), (150, 20), (30, 80)])
def test_seeds(run: Run, shape: tuple[int, int]) -> None:
    points = cloud(*shape)
    path, out = save_graph(run, points), run.directory / "o.npy"
    found = report(run, "kmeanspp", path, "--clusters", 9, "--seed", 5, "-o", out)
    chosen, nearest = plainly_kmeanspp(points, 9, 5)
    assert found["seeds"] == [one + 1 for one in chosen]
    assert found["same"] == found["clusters"] == found["passes"] == found["jobs"] == 9
    assert (found["rows"], found["columns"], found["seed"]) == (*shape, 5)
    np.testing.assert_allclose(np.load(out), nearest, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found["totals"][-1], nearest.sum(), rtol=1e-5)
    assert found["reference"]["wrong"] == 0
    assert 0 < found["reference"]["error"] < found["reference"]["allowed"]
    assert found["counters"]["elements"] == 9 * points.nnz
    assert f"seeds         │ {chosen[0] + 1}, " in run.out
    assert "and 1 more" in run.out


def test_formats_and_files(run: Run) -> None:
    """Dense points in integers, every value exact; fp16."""
    points = np.random.default_rng(1).integers(-5, 6, (40, 6))
    path = run.save("p.npy", points)
    found = report(run, "kmeanspp", path, "--clusters", 4, "--set", "value=int32")
    chosen, nearest = plainly_kmeanspp(csr_array(points.astype(np.float64)), 4, 0)
    assert found["seeds"] == [one + 1 for one in chosen]
    assert found["totals"][-1] == nearest.sum()
    assert found["reference"]["error"] == 0
    found = report(run, "kmeanspp", path, "--clusters", 4, "--set", "value=fp16")
    assert found["reference"]["wrong"] == 0


def test_distances_over_what_is_stored(run: Run) -> None:
    """The distances are those of add-norm, which equal Euclidean ones where every coordinate is
    stored."""
    path = run.save("p.npy", np.random.default_rng(2).normal(size=(30, 30)))
    built = ("--set", "semirings=aril-add,addnorm")
    found = report(run, "kmeanspp", path, "--distance", "stored", *built)
    assert found["seeds"] == report(run, "kmeanspp", path)["seeds"]
    sparse = save_graph(run, cloud(60, 40))
    found = report(run, "kmeanspp", sparse, "--distance", "stored", *built)
    assert found["reference"]["wrong"] == 0
    assert found["totals"][-1] < report(run, "kmeanspp", sparse)["totals"][-1]


def test_kmeanspp_refusals(run: Run) -> None:
    path = save_graph(run, cloud(20, 10))
    refused: Any = lambda *words: run.refused("kmeanspp", path, *words)  # noqa: E731
    assert refused("--clusters", 21) == f"--clusters must be in 1..20, the rows of {path}, not 21"
    assert refused("--clusters", 0) == "--clusters must be an integer of at least 1, not '0'"
    assert refused("--seed", "-1").startswith("--seed must be an integer in 0..")
    assert refused("--distance", "cosine") == (
        "--distance must be one of euclidean, stored, not 'cosine'"
    )
    assert refused("--distance", "stored") == (
        "`semirings` must have addnorm for --distance stored, not mma, minplus, orand, aril-add "
        "alone"
    )
    assert refused("--set", "semirings=mma") == (
        "`semirings` must have aril-add for kmeanspp, not mma alone"
    )
    assert refused("--max-iterations", 3) == (
        "--max-iterations and kmeanspp exclude each other: --clusters says how many"
    )
    assert refused("--set", "value=int32") == (
        f"{path}: {cloud(20, 10).nnz} of {cloud(20, 10).nnz} values are not integers, which int32 "
        "needs"
    )
    path = save_graph(run, cloud(10, 65))
    assert refused("--clusters", 2, "--set", "vector_words=64") == (
        f"{path}: 65 columns are too many for `vector_words` 64, elements of a vector on chip; "
        "--set vector_words=128 holds them"
    )
    path = run.save("p.npy", np.zeros((3, 4)))
    assert refused("--clusters", 2) == f"{path}: the matrix has no entries"
    path = run.save("p.npy", np.array([[1.0, np.inf]]))
    assert refused("--clusters", 1) == (
        f"{path}: the value of row 1, column 2 is inf; values must be finite numbers"
    )
    path = run.save("p.npy", np.full((3, 4), 200.0) * np.arange(1, 4)[:, None])
    assert refused("--clusters", 2, "--set", "value=fp16", "--backend", "model") == (
        f"{path}: squared distances must add up to a finite number in fp16"
    )
    path = run.save("p.npy", np.full((3, 4), 20000) * np.arange(1, 4)[:, None])
    assert refused("--clusters", 2, "--set", "value=int32") == (
        f"{path}: squared distances must add up to less than 2^31 in int32: four times the largest "
        "square, times 3 points, is 1.728e+11"
    )


def test_points_that_coincide(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    path = run.save("p.npy", np.repeat([[1.0, 0], [0, 3]], 5, axis=0))
    found = report(run, "kmeanspp", path, "--clusters", 2)
    assert sorted((one - 1) // 5 for one in found["seeds"]) == [0, 1]
    assert run.refused("kmeanspp", path, "--clusters", 3, "--backend", "model") == (
        f"{path}: has points at 2 places alone; --clusters must be at most 2, not 3"
    )
    # The command reports effects of rounding only for points that it accepts.
    path, fp16 = run.save("p.npy", [[1.0, 1e-9], [1, 0], [1, 1]]), ("--set", "value=fp16")
    capsys.readouterr()
    assert run.refused("kmeanspp", path, "--clusters", 3, *fp16, "--backend", "model") == (
        f"{path}: has points at 2 places alone; --clusters must be at most 2, not 3"
    )
    assert capsys.readouterr() == ("", "")
    report(run, "kmeanspp", path, "--clusters", 2, *fp16)
    assert f"{path}: 1 of 5 values are too small for fp16 and become zero" in run.err


def test_the_verdict_finds_what_is_wrong() -> None:
    """Another seed, another distance."""
    points = cloud(50, 50)
    chosen, nearest = plainly_kmeanspp(points, 6, 3)
    seeds = Seeds(chosen=tuple(chosen), totals=(), nearest=nearest)

    def wrong(changed: Seeds) -> int:
        return against_draws(FORMATS["fp32"], changed, points, "euclidean", 3)[0].wrong

    assert wrong(seeds) == 0
    assert against_draws(FORMATS["fp32"], seeds, points, "euclidean", 3)[1] == 6
    for turn in range(6):
        for other in (chosen[turn] - 1, chosen[turn] + 1):
            moved = (*chosen[:turn], other % 50, *chosen[turn + 1 :])
            assert wrong(replace(seeds, chosen=moved)) > 0
    assert wrong(replace(seeds, nearest=nearest + 1e-3 * (np.arange(50) == 7))) == 1


def test_kmeanspp_a_device_that_is_wrong(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(SidaModel):
        def _job(self) -> tuple[str, int, dict[str, int]]:
            found = super()._job()
            self.memory[self._values["VECTOR_1"] + 7] ^= 1
            return found

    monkeypatch.setattr(session, "opened", lambda one, _, size: Wrong(one.config, size))
    path = save_graph(run, cloud(30, 30))
    found = report(run, "kmeanspp", path, "--clusters", 2, status=1)
    assert found["reference"]["wrong"] > 0
    assert "DIFFERENT" in run.out


@pytest.mark.long
def test_kmeanspp_on_rtl(run: Run) -> None:
    """Every value and counter is the model's."""
    config = small()
    names = ("pes", "subtensor", "buffer_words", "vector_words", "channels", "data_bits",
             "outstanding")  # fmt: skip
    settings = [word for name in names for word in ("--set", f"{name}={getattr(config, name)}")]
    points = cloud(100, 90)
    found = report(run, "kmeanspp", save_graph(run, points), "--clusters", 5, "--backend", "rtl",
                   *settings)  # fmt: skip
    assert found["mismatches"] == 0
    assert found["checked"] > 100
    assert found["seeds"] == [one + 1 for one in plainly_kmeanspp(points, 5, 0)[0]]
    assert found["counters"]["passes_done"] == 5
    assert found["counters"]["cycles"] > 0
    assert "bit for bit equal" in run.out
