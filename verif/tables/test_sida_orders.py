"""The table of orders and blocks at the paper's size, on a small accelerator."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.errors import UserError
from tilewright.sim.sida.order import ORDERS
from tilewright.tables.sida.orders import sida_orders
from tilewright.tables.sida.speedup import RATIOS, sida_speedup

SMALL: dict[str, Any] = {
    "vertices": 300,
    "settings": ["pes=8", "subtensor=8", "channels=4", "data_bits=128", "interleave=64"],
}


@pytest.mark.slow
def test_lines_and_their_means() -> None:
    """As it is a matrix takes what it does in the table without orders; a pass in blocks is as much
    faster as they are smaller."""
    table = sida_orders("cmos", only="R-MAT", **SMALL)
    assert table.columns == ["as it is", *ORDERS]
    *lines, mean, mean_with_blocks = table.rows
    assert len(lines) == 2 * len(RATIOS)
    plain, blocked = lines[::2], lines[1::2]
    for row, with_blocks in zip(plain, blocked, strict=True):
        for each, other in zip(row.ours, with_blocks.ours, strict=True):
            assert 0 < (each or 0) < (other or 0)
    same = sida_speedup("cmos", only="pagerank, R-MAT", **SMALL)
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
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{said}$"):
        sida_orders(**{"target": "cmos", "vertices": 64, **given})
