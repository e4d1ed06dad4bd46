"""The table of blocked storage: its figures are those of ``Blocked``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array
from tilewright.errors import UserError
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.sida.blocked import Blocked, flat_bytes
from tilewright.sim.sida.iterations.graphs import columns_of
from tilewright.sim.sida.order import ORDERS
from tilewright.tables.graph_kinds import GRAPHS
from tilewright.tables.sida.storage import PAPER_SHARE, sida_storage


def test_generated_graphs() -> None:
    """Elements take half the values and two of eight bytes of places; blocks a little."""
    table = sida_storage("cmos", vertices=1024)
    assert table.columns == ["as it is", *ORDERS]
    assert [row.label.split(",")[0] for row in table.rows[::6]] == list(GRAPHS)
    for row in table.rows[::6]:
        assert row.paper == [PAPER_SHARE] * (1 + len(ORDERS))
        assert all(share is not None and 30 < share < 50 for share in row.ours)


def test_a_file(tmp_path: Path) -> None:
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


def test_what_is_refused() -> None:
    with pytest.raises(UserError, match=r"^sida-storage is computed by a model: no --target"):
        sida_storage("ecp5")
