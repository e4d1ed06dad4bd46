"""The table of what OEI can win at most."""

from __future__ import annotations

import pytest
from tilewright.errors import UserError
from tilewright.tables.graph_kinds import GRAPHS
from tilewright.tables.sida.ceiling import sida_ceiling


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


def test_what_is_refused() -> None:
    with pytest.raises(UserError, match=r"^sida-ceiling is computed by a model: no --target"):
        sida_ceiling("ecp5")
