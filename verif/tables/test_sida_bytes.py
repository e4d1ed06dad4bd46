"""The table of bytes that a pass moves."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.errors import UserError
from tilewright.tables.graph_kinds import GRAPHS
from tilewright.tables.sida.moved import COLUMNS, sida_bytes

SMALL = ("pes=4", "subtensor=8", "vector_words=512", "channels=2")


@pytest.mark.slow
def test_lines_and_their_mean() -> None:
    table = sida_bytes("cmos", only="sssp", settings=SMALL, vertices=256)
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
        ({"settings": SMALL, "vertices": 1024},
         r"sida: `vector_words` must be at least 1024, not 512"),
    ],
)  # fmt: skip
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{said}$"):
        sida_bytes(**{"target": "cmos", "vertices": 64, **given})
