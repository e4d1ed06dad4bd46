"""Vectors of the models are as long as the data needs, and refusals name a sufficient size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from tilewright.apps.common.sizing import cure, least_value, sized
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.sida import ModelSidaConfig, SidaConfig
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.sida.apps.files import report, save_graph

VERTICES = 20_000


@pytest.fixture
def star(run: Run) -> Path:
    """A vertex with edges to all others."""
    ends = np.arange(1, VERTICES)
    shape = (VERTICES, VERTICES)
    return save_graph(run, coo_array((np.ones(len(ends)), (np.zeros_like(ends), ends)), shape))


@pytest.mark.parametrize("backend", slow_but(["model"], ["model", "cycles"]))
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
