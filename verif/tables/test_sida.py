"""The table of SIDA's area: its sums, and its shape on a small configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, tril
from tilewright.cli import main
from tilewright.errors import UserError
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.blocked import Blocked, flat_bytes
from tilewright.sim.sida.held import held
from tilewright.sim.sida.iterations.graphs import columns_of
from tilewright.sim.sida.order import ORDERS
from tilewright.synth.report import AsicReport
from tilewright.synth.tables import measure, sida_area
from tilewright.synth.tables.sida import SMALL
from tilewright.tables.generated_matrices import GRAPHS
from tilewright.tables.sida.ceiling import sida_ceiling
from tilewright.tables.sida.moved import COLUMNS, sida_bytes
from tilewright.tables.sida.orders import sida_orders
from tilewright.tables.sida.reuse import sida_reuse
from tilewright.tables.sida.speedup import RATIOS, sida_speedup
from tilewright.tables.sida.storage import PAPER_SHARE, sida_storage
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.tables.made_up import BIT_AREA, made_up, ours_of

EVERYTHING: dict[str, tuple[float, int]] = {
    "columns from memory": (100.0, 500),
    "rows from memory again": (90.0, 400),
    "x and z, and who reads them": (80.0, 4096),
    "sums of columns, both products": (70.0, 0),
    "elements that wait, and w": (60.0, 8192),
    "element-wise core": (50.0 + 5.0 + 4.0 + 3.0, 300),
    "vectors and programs from and to memory": (30.0 + 20.0 + 10.0, 0),
    "registers, control and counters": (1.0 + 2.0 + 3.0 + 4.0, 0),
    "interconnect and control": (16.0, 100),
    "buffers of high fan-out": (12.0, 0),
}
"""Logic and bits of the parts in the made-up report."""


def _report(unit: str, config: Any, target: str, **_: bool) -> AsicReport:
    """A made-up report: the logic of each part has another area."""
    parts: dict[str, tuple[int, float, int]] = {
        "column_loader": (1, 100.0, 500),
        "row_loader": (1, 90.0, 400),
        "gather": (1, 80.0, 4096),
        "both_sums": (1, 70.0, 0),
        "held_elements": (1, 60.0, 8192),
        "ewise_core": (1, 50.0, 300),
        "row_packer": (1, 5.0, 0),
        "sum_rows": (1, 4.0, 0),
        "scalar_port": (1, 3.0, 0),
        "vector_loader": (1, 30.0, 0),
        "vector_writer": (1, 20.0, 0),
        "program_loader": (1, 10.0, 0),
        "axi_lite_registers": (1, 1.0, 0),
        "control": (1, 2.0, 0),
        "pass_control": (1, 3.0, 0),
        "counters": (1, 4.0, 0),
        "row_lane": (8, 7.0, 0),
    }
    area = sum(logic for logic, _ in EVERYTHING.values())
    bits = sum(bits for _, bits in EVERYTHING.values())
    return made_up(
        unit, target, parts, area=area, memory_bits=bits, buffer_area=12.0, config=config.resolved()
    )


@pytest.mark.parametrize("target", ["cmos", "liberty:made up"])
def test_the_figures_of_the_table(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr(measure, "synthesize", _report)
    monkeypatch.setattr(measure, "target_library", lambda _: "made up")
    table = sida_area(target)
    assert {row.label for row in table.rows[:-2]} == set(EVERYTHING)
    scale, bit = 1.0 if target == "cmos" else 1e-6, BIT_AREA
    whole = sum(logic + bits * bit for logic, bits in EVERYTHING.values()) * scale
    for label, (logic, bits) in EVERYTHING.items():
        found = ours_of(table, label)
        assert found[:2] == pytest.approx([logic * scale, bits])
        assert found[3] == pytest.approx(found[0] + found[2])
        assert found[4] == pytest.approx(100 * found[3] / whole)
    assert ours_of(table, "whole")[3:] == pytest.approx([whole, 100])
    memories = table.rows[-1]
    assert memories.ours[1] == 4096 + 8192
    assert memories.paper[3] == (None if target == "cmos" else 200)
    assert memories.paper[4] == pytest.approx(57.47, abs=0.01)


def test_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless something else is asked for; of the default modules are not put together."""
    seen: list[tuple[object, bool]] = []

    def synthesize(unit: str, config: Any, target: str, *, together: bool) -> AsicReport:
        seen.append((config, together))
        return _report(unit, config, target)

    monkeypatch.setattr(measure, "synthesize", synthesize)
    sida_area("cmos", full=True)
    sida_area("cmos", pes=8)
    assert seen == [(SidaConfig(), False), (SidaConfig(**{**SMALL, "pes": 8}), True)]


@pytest.mark.long
def test_a_small_table() -> None:
    table = sida_area("cmos", channels=1, value="fp16", semirings=("mma",))
    for label in EVERYTHING:
        assert ours_of(table, label)[3] > 0, label
    parts = sum(ours_of(table, label)[3] for label in EVERYTHING)
    assert parts == pytest.approx(ours_of(table, "whole")[3])


# The table of bytes that a pass moves.

SMALL_BYTES = ("pes=4", "subtensor=8", "vector_words=512", "channels=2")


@pytest.mark.slow
def test_lines_and_their_mean() -> None:
    table = sida_bytes("cmos", only="sssp", settings=SMALL_BYTES, vertices=256)
    assert table.columns == COLUMNS
    *lines, mean = table.rows
    assert len(lines) == len(GRAPHS)
    for row in lines:
        memory, on_chip, *parts = (each or 0.0 for each in row.ours)
        assert 0 < memory < 100
        *ours, ideal = parts
        assert all(each > 0 for each in parts)
        assert on_chip == pytest.approx(100 * (1 - sum(ours) / ideal))
    first = [row.ours[0] or 0.0 for row in lines]
    assert mean.ours[0] == pytest.approx(sum(first) / len(first))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"target": "ice40"}, r"sida-bytes is computed by a model: no --target, not 'ice40'"),
        ({"settings": ["pes=3"]}, r"sida: `pes` must be a power of two in 4\.\.64, not 3"),
        ({"only": "knn"}, r"--only must be part of the name of a line, not 'knn'"),
        ({"settings": SMALL_BYTES, "vertices": 1024},
         r"sida: `vector_words` must be at least 1024, not 512"),
    ],
)  # fmt: skip
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{said}$"):
        sida_bytes(**{"target": "cmos", "vertices": 64, **given})


# The table of what OEI can win at most.


@pytest.mark.slow
def test_the_table() -> None:
    """Every computation on every graph; fusing is part of what is won over an ideal accelerator,
    and no more than a factor of two is won beyond it."""
    told: list[str] = []
    table = sida_ceiling("cmos", told.append, vertices=128)
    assert table.columns == ["iterations", "over ideal", "over fused"]
    assert len(table.rows) == len(told) == 4 * len(GRAPHS)
    for row in table.rows:
        iterations, over_ideal, over_fused = (x or 0.0 for x in row.ours)
        assert iterations >= 1
        assert 1 <= over_fused < 2
        assert over_fused < over_ideal


def test_ceiling_what_is_refused() -> None:
    with pytest.raises(UserError, match=r"^sida-ceiling is computed by a model: no --target"):
        sida_ceiling("ecp5")


# The table of orders and blocks at the paper's size, on a small accelerator.

SMALL_ORDERS: dict[str, Any] = {
    "vertices": 300,
    "settings": ["pes=8", "subtensor=8", "channels=4", "data_bits=128", "interleave=64"],
}


@pytest.mark.slow
def test_lines_and_their_means() -> None:
    """The column without an order equals the table without orders. Passes in blocks are faster."""
    table = sida_orders("cmos", only="R-MAT", **SMALL_ORDERS)
    assert table.columns == ["as it is", *ORDERS]
    *lines, mean, mean_with_blocks = table.rows
    assert len(lines) == 2 * len(RATIOS)
    plain, blocked = lines[::2], lines[1::2]
    for row, with_blocks in zip(plain, blocked, strict=True):
        for each, other in zip(row.ours, with_blocks.ours, strict=True):
            assert 0 < (each or 0) < (other or 0)
    same = sida_speedup("cmos", only="pagerank, R-MAT", **SMALL_ORDERS)
    assert [row.ours[0] for row in plain] == [row.ours[0] for row in same.rows[: len(RATIOS)]]
    for which, means in ((plain, mean), (blocked, mean_with_blocks)):
        product = 1.0
        for row in which:
            product *= row.ours[0] or 0.0
        assert means.ours[0] == pytest.approx(product ** (1 / len(RATIOS)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"target": "ecp5"}, r"sida-orders is computed by a model: no --target, not 'ecp5'"),
        ({"settings": ["pes=3"]}, r"sida: `pes` must be a power of two in 4\.\.1024, not 3"),
        ({"only": "knn"}, r"--only must be part of the name of a line, not 'knn'"),
    ],
)
def test_orders_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{said}$"):
        sida_orders(**{"target": "cmos", "vertices": 64, **given})


# The table of what OEI holds: its figures are those of `held`, on files and generated graphs.


def test_generated_graphs() -> None:
    table = sida_reuse("cmos", vertices=256)
    assert table.columns == ["as it is", *ORDERS]
    assert [row.label.split(",")[0] for row in table.rows[::2]] == list(GRAPHS)
    for most, mean in zip(table.rows[::2], table.rows[1::2], strict=True):
        for high, low in zip(most.ours, mean.ours, strict=True):
            assert high is not None
            assert low is not None
            assert 0 < low <= high < 100


@pytest.mark.parametrize("kind", GRAPHS)
def test_graphs(kind: str) -> None:
    """Graphs have the requested size and are the same for the same seed; roads and grids are
    symmetric."""
    matrix = GRAPHS[kind](1000, 5)
    assert abs(matrix.shape[0] - 1000) <= 40
    assert (matrix != GRAPHS[kind](1000, 5)).nnz == 0
    assert (matrix.data == 1).all()
    degree = matrix.nnz / matrix.shape[0]
    low, high = {"R-MAT": (8, 16), "2-D grid": (4, 5), "3-D grid": (6, 7), "roads": (2, 3)}[kind]
    assert low < degree < high
    if kind != "R-MAT":
        assert (matrix != matrix.T).nnz == 0


def test_a_file(tmp_path: Path) -> None:
    """A symmetric matrix is there twice."""
    rng = np.random.default_rng(2)
    one = csr_array(np.triu(rng.random((30, 30)) < 0.2).astype(float))
    both = csr_array(one + one.T)
    path = tmp_path / "both.mtx"
    mmwrite(path, coo_array(both))
    table = sida_reuse("cmos", files=[path])
    labels = ["both: most, %", "mean, %", "both, lower half: most, %", "mean, %"]
    assert [row.label for row in table.rows] == labels
    for matrix, row in ((both, table.rows[0]), (csr_array(tril(both)), table.rows[2])):
        places = matrix.tocoo()
        assert row.ours[0] == 100 * held(places.row, places.col, 30).peak_share
        assert row.paper == [None] * 4


@needs_data
def test_a_graph_is_better_upper() -> None:
    table = sida_reuse("cmos", files=[data_file("matrices/p2p-Gnutella31.mtx")])
    shares = dict(zip(table.columns, table.rows[0].ours, strict=True))
    assert shares["as it is"] == pytest.approx(19.83, abs=0.01)
    assert (shares["upper"] or 100) < 3


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["2 3 1", "1 1 1"], "the matrix must be square, not 2 x 3"),
        (["0 0 0"], "the matrix must have 1 to 134217728 rows, not 0"),
    ],
)
def test_files_that_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[str], said: str
) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("\n".join(["%%MatrixMarket matrix coordinate real general", *lines, ""]))
    assert main(["table", "sida-reuse", str(path)]) == 2
    assert capsys.readouterr().err == f"error: {path}: {said}\n"


def test_what_else_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "simd2-area", "a.mtx"]) == 2
    assert capsys.readouterr().err == "error: simd2-area takes no files, not a.mtx\n"
    with pytest.raises(UserError, match=r"^sida-reuse is computed by a model: no --target"):
        sida_reuse("ecp5")


# The table of blocked storage: its figures are those of ``Blocked``.


def test_storage_generated_graphs() -> None:
    """Elements take half the values and two of eight bytes of places; blocks a little."""
    table = sida_storage("cmos", vertices=1024)
    assert table.columns == ["as it is", *ORDERS]
    assert [row.label.split(",")[0] for row in table.rows[::6]] == list(GRAPHS)
    for row in table.rows[::6]:
        assert row.paper == [PAPER_SHARE] * (1 + len(ORDERS))
        assert all(share is not None and 30 < share < 50 for share in row.ours)


def test_storage_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    matrix = coo_array((rng.random((40, 40)) < 0.3).astype(float))
    path = tmp_path / "one.mtx"
    mmwrite(path, matrix)
    found = {row.label: row.ours[0] for row in sida_storage("cmos", files=[path]).rows}
    columns = columns_of(matrix, FORMATS["fp64"])
    blocks = Blocked.of(columns, int(found["side of a block"] or 0))
    assert found["one: memory, fp64, %"] == 50 * blocks.bytes(8) / flat_bytes(columns, 8)
    assert found["memory, fp32, %"] == 50 * blocks.bytes(4) / flat_bytes(columns, 4)
    assert found["read in a pass, fp32, %"] == 100 * blocks.column_bytes(4) / flat_bytes(columns, 4)
    assert found["elements in one"] == len(columns.rows) / blocks.blocks


def test_storage_what_is_refused() -> None:
    with pytest.raises(UserError, match=r"^sida-storage is computed by a model: no --target"):
        sida_storage("ecp5")
