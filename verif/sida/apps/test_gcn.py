"""``tilewright run gcn --unit sida``: a graph network against SciPy, refusals, and runs on RTL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmread
from tilewright.apps.common import session
from tilewright.sim.sida.model import SidaModel
from tilewright.verif.kit.commands import Run
from tilewright.verif.sida.apps.files import report, save_graph
from tilewright.verif.sida.configs import small
from tilewright.verif.sida.iterations.random_graphs import random_graph

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


@pytest.mark.slow
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
