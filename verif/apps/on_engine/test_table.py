"""``tilewright table simd2-applications`` at small sizes: iterations, cycles and the comparison."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tilewright.apps.common.units.matrix_unit import EngineChoice
from tilewright.apps.common.units.matrix_unit_numbers import numbers_of
from tilewright.apps.common.units.matrix_unit_products import TiledProduct
from tilewright.apps.graphs.closure import Notation, close
from tilewright.apps.graphs.options import ALGORITHMS
from tilewright.apps.graphs.problems import PROBLEMS
from tilewright.cli import main
from tilewright.hw.spec.engine import ENGINE_M3XU, M3xuEngineConfig
from tilewright.hw.spec.simd2 import SIMD2, Simd2Config
from tilewright.tables.simd2 import measured
from tilewright.tables.simd2.measured import Times

SIZES = dict.fromkeys(measured.PAPERS_SIZES, (24, 40, 56))
BLOCKS = ("--set", "block_rows=2", "--set", "block_cols=2", "--set", "block_depth=2")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduces the sizes of every part of the table."""
    monkeypatch.setattr(measured, "PAPERS_SIZES", SIZES)
    monkeypatch.setattr(measured, "LAYER", 8)
    monkeypatch.setattr(measured, "FEATURES", 16)
    monkeypatch.setattr(measured, "GEMM", 32)


def iterations_of(name: str, size: int, algorithm: str, *, check: bool) -> int:
    """Returns the iterations of the unit's model on the same graph."""
    problem = PROBLEMS[name]
    unit = Simd2Config(format="bf16" if problem.joining == "product" else "fp16")
    graph = measured.generated(name, size, measured.SEED)
    start = graph.dense(problem.absent)
    np.fill_diagonal(start, problem.combine(np.diagonal(start), problem.empty))
    notation = Notation(problem, numbers_of(unit, problem.operation))
    product = TiledProduct(SIMD2, unit, problem.operation, backend="model")
    return close(notation, start, product.multiply, algorithm, check=check).iterations


def test_figures_of_every_application(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "table.json"
    assert main(["table", "simd2-applications", "--full", *BLOCKS, "--json", str(file)]) == 0
    said = capsys.readouterr().out
    assert "seed 1" in said
    assert "16 lanes in the same engine" in said
    written = json.loads(file.read_text())
    whole, text = written["parts"]
    rows = {row["label"]: row["ours"] for row in whole["rows"]}
    assert len(rows) == 3 * (7 * 2 + 1)
    for name in PROBLEMS:
        for algorithm in ALGORITHMS:
            figures = rows[f"{name} 24, {algorithm}"]
            assert figures[0] == iterations_of(name, 24, algorithm, check=True)
            assert figures[2] == {"leyzorek": 5, "bellman-ford": 22}[algorithm]
            assert figures[1] / figures[0] == pytest.approx(figures[3] / figures[2])
            # The unit's 6 x 6 x 6 operations, and no fewer cycles; at most 8 times as many.
            assert figures[1] / figures[0] >= 216e-6
            assert 1 < figures[5] <= 8
            assert figures[6] == pytest.approx(figures[5] / figures[0])
            assert figures[7] == pytest.approx(figures[5] / figures[2])
    check, cycles, *others = rows["knn 56, 16 features"]
    assert cycles >= 14 * 4 * 14 * 1e-6
    assert {check, *others[:2], *others[4:]} == {None}
    published = {row["label"]: (row["paper"], row["ours"]) for row in text["rows"]}
    assert published["Leyzorek without the check, over one pass"][0] == [1.11, 10.91]
    ratios = [rows[f"{name} {n}, leyzorek"][7] for name in PROBLEMS for n in (24, 40, 56)]
    assert published["Leyzorek without the check, over one pass"][1] == [min(ratios), max(ratios)]
    assert all(None not in ours for _, ours in published.values())


def test_the_cycles_are_those_of_a_run(tmp_path: Path) -> None:
    """The table's cycles equal those of a run on a graph file with as many vertices."""
    file, report = tmp_path / "table.json", tmp_path / "report.json"
    words = ["table", "simd2-applications", "--only", "apsp", *BLOCKS, "--json", str(file)]
    assert main(words) == 0
    (row, _) = json.loads(file.read_text())["parts"][0]["rows"]
    ring = np.zeros((24, 24))
    ring[np.arange(24), (np.arange(24) + 1) % 24] = 1
    np.save(tmp_path / "g.npy", ring)
    words = ["run", "apsp", str(tmp_path / "g.npy"), "--on", "engine", "--backend", "cycles"]
    assert main([*words, "--no-convergence-check", *BLOCKS, "--json", str(report)]) == 0
    found = json.loads(report.read_text())
    assert found["iterations"] == row["ours"][2]
    # Both may differ in the order in which the readers of the one channel start.
    assert found["cycles"] == pytest.approx(1e6 * row["ours"][3], rel=1e-2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "ecp5"],
         "simd2-applications is computed by a model: no --target, not 'ecp5'"),
        (["--only", "bfs"], "--only must be part of apsp, aplp, mcp, maxrp, minrp, mst, gtc, knn, "
                            "not 'bfs'"),
        (["--set", "ops=mma"], "`ops` must include minplus for apsp, not 'mma'"),
        (["--set", "tile=3"], "engine_simd2: `tile` must be a power of two in 2..16, not 3"),
    ],
)  # fmt: skip
def test_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "simd2-applications", *words]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_an_engine_without_products(tmp_path: Path) -> None:
    """The figure of multiply-adds is empty; the application's stand."""
    file = tmp_path / "table.json"
    words = ["--only", "gtc", "--set", "ops=orand", *BLOCKS, "--json", str(file)]
    assert main(["table", "simd2-applications", *words]) == 0
    whole, text = json.loads(file.read_text())["parts"]
    assert len(whole["rows"]) == 2
    ours = {row["label"]: row["ours"] for row in text["rows"]}
    assert ours["plus-multiply, over the vector unit"] == [None, None]
    assert None not in ours["semiring products, over the vector unit"]


def test_times_of_operations_of_different_widths() -> None:
    """tf32 takes as many cycles as fp16 in the unit, but its elements are twice as wide."""
    config = M3xuEngineConfig(rows=2, cols=2, depth=4, modes=("fp16", "bf16", "tf32"))
    setting = EngineChoice(unit=ENGINE_M3XU, config=config, backend="cycles", gigahertz=1.0)
    times = Times(setting)
    found = {name: times.of(name, (8, 16, 8), use_c=True, vector=False) for name in config.opcodes}
    assert found["bf16"] is found["fp16"]
    assert len({config.unit.latency[name] for name in found}) == 1
    assert found["tf32"].memory_bytes == found["fp16"].memory_bytes + 2 * (8 * 16 + 16 * 8)
