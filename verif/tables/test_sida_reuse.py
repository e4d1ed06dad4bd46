"""The table of what OEI holds: its figures are those of `held`, on files and generated graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, tril
from tilewright.cli import main
from tilewright.errors import UserError
from tilewright.sim.sida.held import held
from tilewright.sim.sida.order import ORDERS
from tilewright.tables.graph_kinds import GRAPHS
from tilewright.tables.sida.reuse import sida_reuse
from tilewright.verif.kit.data import data_file, needs_data


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
    """As large as asked for, the same for the same seed, roads and grids both ways."""
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
