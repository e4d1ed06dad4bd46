"""The table of MatRaptor's area: its sums, and its shape on a small configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tilewright.cli import main
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.cycles.reasons import REASONS
from tilewright.sim.matraptor.cycles.rows import simulate
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.sim.sparse.generated.suite import SUITE, square_matrix
from tilewright.sim.timing.memories import FLAT, HBM
from tilewright.synth.report import AsicReport
from tilewright.synth.tables import Row, Table, matraptor_area, measure
from tilewright.tables import matraptor as breakdown
from tilewright.tables import matraptor_suite as suite
from tilewright.tables.element_rate import Case, compare_modes, modes_device
from tilewright.tables.generated_matrices import KINDS, products
from tilewright.tables.matraptor import CASES, matraptor_modes
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.pages import page
from tilewright.verif.matraptor.jobs import fits
from tilewright.verif.tables.made_up import BIT_AREA, made_up, ours_of

TINY: dict[str, Any] = {
    "lanes": 1, "channels": 1, "queues": 3, "queue_depth": 64, "value": "fp16", "outstanding": 2,
}  # fmt: skip
PARTS = (
    "processing elements",
    "A loaders",
    "B loaders",
    "row writers",
    "burst writers",
    "crossbar",
    "registers and counters",
    "control and the rest",
    "buffers of high fan-out",
)


def _row(table: Table, label: str) -> Row:
    return next(row for row in table.rows if row.label == label)


def _check_shape(table: Table, target: str) -> None:
    found = json.loads(json.dumps(table.to_json()))
    assert list(found) == ["table", "target", "columns", "rows"]
    assert (found["table"], found["target"]) == ("matraptor-area", target)
    assert len(found["columns"]) == 7
    assert len({row["label"] for row in found["rows"]}) == len(found["rows"]) == 20
    for row in found["rows"]:
        assert len(row["paper"]) == len(row["ours"]) == 7
    # The parts are the whole, and so are their shares.
    for column in (0, 1, 2, 3, 4, 5):
        parts = sum(ours_of(table, label)[column] for label in PARTS)
        assert parts == pytest.approx(ours_of(table, "whole")[column])
    assert ours_of(table, "whole")[5] == pytest.approx(100)
    assert sum(ours_of(table, label)[6] for label in PARTS[:3]) == pytest.approx(100)
    assert _row(table, "processing elements").paper[6] == 88.44
    assert _row(table, "processing elements, queues").paper[1] == 8 * 10 * 8 * 2**10 * 8
    element = ours_of(table, "processing elements")
    logic, queues = (ours_of(table, f"processing elements, {x}")[3] for x in ("logic", "queues"))
    assert logic + queues == pytest.approx(element[3])


def _report(unit: str, config: Any, target: str, **_: bool) -> AsicReport:
    """A made-up report of two lanes: the logic of each part has another area."""
    assert (unit, config) == ("matraptor", MatRaptorConfig(lanes=2, channels=2))
    parts: dict[str, tuple[int, float, int]] = {
        "processing_element": (2, 100.0, 10000),
        "sparse_a_loader": (2, 20.0, 1000),
        "sparse_b_loader": (2, 30.0, 2000),
        "c2sr_row_writer": (2, 5.0, 0),
        "write_manager": (2, 7.0, 0),
        "read_crossbar": (1, 11.0, 0),
        "axi_lite_registers": (1, 3.0, 0),
        "counters": (1, 2.0, 0),
        "multiply_stage": (2, 40.0, 0),
        "adder_tree": (1, 8.0, 0),
        "adder_tree_2": (1, 10.0, 0),
        "row_merge": (2, 25.0, 0),
        "partial_row_merge": (2, 15.0, 0),
    }
    return made_up(unit, target, parts, area=360.0, memory_bits=26500, buffer_area=10.0)


@pytest.mark.parametrize("target", ["cmos", "liberty:made up"])
def test_the_figures_of_the_table(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr(measure, "synthesize", _report)
    monkeypatch.setattr(measure, "target_library", lambda _: "made up")
    seen: list[str] = []
    table = matraptor_area(target, lanes=2, channels=2, progress=seen.append)
    assert len(seen) == 1
    _check_shape(table, target)
    scale, bit = 1.0 if target == "cmos" else 1e-6, BIT_AREA
    element = 200 + 20000 * bit
    loaders = 40 + 2000 * bit, 60 + 4000 * bit
    whole = 360 + 26500 * bit
    ours = ours_of(table, "processing elements")
    assert ours[:2] == pytest.approx([200 * scale, 20000])
    assert ours[2:5] == pytest.approx([20000 * bit * scale, element * scale, element * scale / 2])
    assert ours[5:] == pytest.approx(
        [100 * element / whole, 100 * element / (element + sum(loaders))]
    )
    rest = 350 - 200 - 40 - 60 - 10 - 14 - 11 - 5
    assert ours_of(table, "control and the rest")[:2] == pytest.approx([rest * scale, 500])
    assert ours_of(table, "buffers of high fan-out")[0] == pytest.approx(10 * scale)
    assert ours_of(table, "  phase II, adder tree, logic")[0] == pytest.approx(18 * scale)
    paper = _row(table, "processing elements").paper
    if target == "cmos":
        # Areas in transistors are nothing to compare with.
        assert list(paper) == [None, 5242880, None, None, None, None, 88.44]
    else:
        assert list(paper) == [0.080, 5242880, 1.901, 1.981, None, None, 88.44]


@pytest.mark.long
def test_a_small_table() -> None:
    table = matraptor_area("cmos", **TINY)
    _check_shape(table, "cmos")
    # Two sets of three queues of entries of six bytes.
    assert ours_of(table, "processing elements")[1] == 2 * 3 * 64 * 48
    for label in PARTS:
        assert ours_of(table, label)[0] > 0
    logic = ours_of(table, "processing elements, logic")[0]
    names = ("multiplication", "phase I, merging", "sorting queues, both sets", "phase II")
    inside = [ours_of(table, f"  {name}, logic")[0] for name in names]
    assert all(x > 0 for x in inside)
    assert sum(inside) < logic


def test_a_wrong_parameter() -> None:
    with pytest.raises(ValueError, match=r"^`queues` must be an integer in 3\.\.16, not 2$"):
        matraptor_area("cmos", queues=2)


# The table of what the lanes' cycles go to, and the matrices that it is about.

WHOLE = 5
"""Rows before the shares."""


@pytest.mark.slow
def test_every_cycle_is_in_the_table() -> None:
    said: list[str] = []
    found = breakdown.matraptor_breakdown("cmos", said.append, sizes=(30_000, 60_000))
    assert len(said) == (2 * 2 + len(breakdown.HARDWARE)) * len(KINDS)
    assert [part.table.split(", ")[1] for part in found.parts] == [
        "64-byte accesses", "32-byte accesses", "more hardware"
    ]  # fmt: skip
    more = found.parts[-1]
    assert more.columns == [f"{kind}, {what}" for kind in KINDS for what in breakdown.HARDWARE]
    cycles = next(row.ours for row in more.rows if row.label == "cycles")
    assert len(set(cycles)) == len(cycles)
    shares = np.array([row.ours for row in more.rows[WHOLE:]], float)
    np.testing.assert_allclose(shares.sum(axis=0), 100)
    for part in found.parts[:-1]:
        assert len(part.columns) == 2 * len(KINDS)
        assert [row.label for row in part.rows[WHOLE:]] == [f"{w}, %" for w in REASONS.values()]
        figures = np.array([row.ours for row in part.rows], float)
        np.testing.assert_allclose(figures[WHOLE:].sum(axis=0), 100)
        labels = [row.label for row in part.rows]
        assert figures[labels.index("jobs")].min() >= 1
        assert figures[labels.index("ratio to the bound")].min() >= 1
        taken = figures[labels.index("products, %")] / 100 * figures[labels.index("cycles")] * 8
        asked = [float(column.split(", ")[1].split()[0]) * 1e6 for column in part.columns]
        np.testing.assert_allclose(taken, asked, atol=50_000)


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_are_what_they_say(kind: str) -> None:
    make = KINDS[kind]
    matrix, again, other = make(100_000, 1), make(100_000, 1), make(100_000, 2)
    assert (matrix != again).nnz == 0
    assert matrix.shape == other.shape
    assert (matrix != other).nnz > 0
    assert products(matrix) == int((matrix @ matrix).sum())
    assert 0.5 * 100_000 < products(matrix) < 1.3 * 100_000
    row, column = matrix.tocoo().coords
    lengths = np.diff(matrix.indptr)
    if kind == "power law":
        assert (matrix != matrix.T).nnz == 0
        assert lengths.max() > 8 * lengths.mean()
    elif kind == "banded":
        assert abs(row - column).max() == 20
        assert lengths.max() < 2 * lengths.mean()
    else:
        blocks = np.unique(row // 8 * matrix.shape[0] + column // 8)
        assert matrix.nnz == 64 * len(blocks)


@pytest.mark.long
def test_the_page_has_these_figures() -> None:
    text = page("matraptor-results.md").read_text()
    for part in breakdown.matraptor_breakdown("cmos").parts:
        assert f"| {' | '.join(part.columns)} |" in text
        for row in part.rows:
            assert f"| {' | '.join([row.label, *row.cells(row.ours)])} |" in text


@pytest.mark.slow
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "breakdown.json"
    assert main(["table", "matraptor-breakdown", "--target", "ice40", "--json", str(target)]) == 2
    assert capsys.readouterr().err == (
        "error: matraptor-breakdown is computed by a model: no --target, not 'ice40'\n"
    )
    assert not target.exists()
    monkeypatch.setattr(breakdown.matraptor_breakdown, "__kwdefaults__", {"sizes": (20_000,)})
    assert main(["table", "matraptor-breakdown", "--json", str(target)]) == 0
    assert "merging, %" in capsys.readouterr().out
    assert len(json.loads(target.read_text())["parts"]) == 3


# The table of MatRaptor's two modes: each case is measured in both, and its rules hold.

SMALL = {"dense": (24, 40, 32, 0.5, 0.6), "sparse": (40, 40, 40, 0.03, 0.03)}


@pytest.mark.long
def test_small_products_in_both_modes() -> None:
    said: list[str] = []
    table = matraptor_modes("cmos", said.append, cases=SMALL)
    assert said[-2:] == list(SMALL)
    assert len(table.columns) == 6
    dense, sparse = ([x or 0.0 for x in row.ours] for row in table.rows)
    assert min(dense + sparse) > 0
    cycles, utilisation, kilobytes = (dense[n : n + 2] for n in (0, 2, 4))
    assert cycles[1] < cycles[0]
    assert utilisation[1] > utilisation[0]
    # Every lane reads a row of B once for all its rows: 6 of them, half full.
    assert kilobytes[1] < 0.6 * kilobytes[0]
    # Sums on chip are a detour if almost no place is added to twice.
    assert sparse[0] < sparse[1]


@pytest.mark.long
def test_convolutions_take_outer_products_half_the_cycles() -> None:
    m, k, n, left, right = CASES["128 x 1152 x 49, 30 and 50 %"]
    case = Case(rows=m, inner=k // 4, columns=n, left=left, right=right)
    with modes_device() as rtl:
        by_rows, outer = compare_modes(rtl, case)
    assert outer.utilisation > 0.9
    assert outer.cycles < 0.6 * by_rows.cycles


def test_no_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "modes.json"
    assert main(["table", "matraptor-modes", "--target", "ecp5", "--json", str(target)]) == 2
    assert "no --target, not 'ecp5'" in capsys.readouterr().err
    assert not target.exists()


def test_every_case_is_one_job() -> None:
    config = MatRaptorConfig(lanes=4, channels=4, outer_product=True)
    for rows, _, columns, _, _ in CASES.values():
        assert fits(config, rows, columns)


# The suite of the paper's matrices.

FEW = ("p2p-Gnutella31", "ca-CondMat", "wiki-Vote", "poisson3Da")


def _check_square(name: str, results: bool) -> None:
    kind, matrix = SUITE[name], square_matrix(name)
    lengths = np.diff(matrix.indptr)
    assert matrix.shape == (kind.rows, kind.rows)
    assert (matrix.nnz, lengths.max()) == (kind.entries, kind.longest)
    assert matrix.has_canonical_format
    assert products(matrix) == pytest.approx(kind.products, rel=0.1)
    if results:
        assert 0.95 * kind.results < (matrix @ matrix).nnz < 1.5 * kind.results


@pytest.mark.parametrize("name", FEW)
def test_a_generated_matrix_is_like_the_real_one(name: str) -> None:
    _check_square(name, results=name in FEW[:3])


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in SUITE if name not in FEW])
def test_large_generated_matrices_are_like_the_real_ones(name: str) -> None:
    _check_square(name, results=True)


@needs_data
def test_the_generated_network_is_like_the_file() -> None:
    """Cycles of the real p2p-Gnutella31 and of the one made for it differ by at most 5 %."""
    config = MatRaptorConfig()
    real = sp.csr_array(scipy.io.mmread(data_file("matrices/p2p-Gnutella31.mtx")))
    cycles = [simulate(config, a, a, memory=HBM).cycles
              for a in (real, square_matrix("p2p-Gnutella31"))]  # fmt: skip
    assert cycles[1] == pytest.approx(cycles[0], rel=0.05)


def test_products_of_the_suite_are_those_of_the_driver() -> None:
    """The same jobs, split where queues overflow, with the same cycles."""
    config = MatRaptorConfig(lanes=2, channels=2, queues=3, queue_depth=16)
    matrix = sp.csr_array(KINDS["power law"](6_000, 3))
    found = suite._measure(config, matrix, matrix, FLAT)
    model = MatRaptorModel(config, 1 << 24, channel=FLAT)
    driver, operand = SparseDriver(model), from_csr(matrix, config.layout)
    driver.multiply(operand, operand)
    assert found.attempts == len(driver.jobs) > 3
    assert [job.error for job in driver.jobs].count("overflow") == 1
    assert found.lost > 0
    assert len(found.copies) == sum(job.copies for job in driver.jobs)
    assert [job.operations for job in found.jobs] == [job.operations for job in model.cycles]
    assert found.cycles - found.lost == sum(job.cycles for job in model.cycles)


def test_the_table_of_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file named as a matrix of the suite replaces it; others are added."""
    monkeypatch.setattr(suite, "TILE", 40)
    eye, band = sp.coo_array(np.eye(60)), sp.coo_array(np.eye(50) + np.eye(50, k=1))
    scipy.io.mmwrite(tmp_path / "ca-CondMat.mtx", eye)
    scipy.io.mmwrite(tmp_path / "band.mtx", band)
    files = [tmp_path / "ca-CondMat.mtx", tmp_path / "band.mtx"]
    found = suite.matraptor_suite("cmos", files=files, only="ca-CondMat", settings=["lanes=4"])
    matrices, squares, tiles = found.parts
    assert [row.label for row in matrices.rows] == ["ca-CondMat", "band"]
    assert list(matrices.rows[0].ours[:4]) == [60, 60, 1, 60 / 1e6]
    assert list(matrices.rows[1].ours[:6]) == [50, 99, 2, 196 / 1e6, None, 147 / 1e6]
    cycles = simulate(MatRaptorConfig(lanes=4), eye, eye, memory=HBM).cycles
    assert list(squares.rows[0].ours[:4]) == [1, 0, cycles, cycles / 2000]
    assert [row.label for row in tiles.rows] == ["ca-CondMat", "band"]
    assert tiles.rows[0].ours[:2] == [40, (39 + 40) / 1e6]

    assert main(["table", "matraptor-suite", "--only", "wikiVote"]) == 2
    assert "wiki-Vote" in capsys.readouterr().err
    wide = tmp_path / "wide.mtx"
    scipy.io.mmwrite(wide, sp.coo_array(np.eye(3, 4)))
    assert main(["table", "matraptor-suite", str(wide), "--only", "wiki-Vote"]) == 2
    assert capsys.readouterr().err.endswith(
        "must be square with 1 to 4,294,967,296 rows, not 3 x 4\n"
    )
