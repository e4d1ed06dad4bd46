"""The table of passes at the paper's size, on a small accelerator."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.errors import UserError
from tilewright.tables.graph_kinds import GRAPHS
from tilewright.tables.sida.speedup import COLUMNS, RATIOS, sida_speedup

SMALL: dict[str, Any] = {
    "vertices": 300,
    "settings": ["pes=8", "subtensor=8", "channels=4", "data_bits=128", "interleave=64"],
}


@pytest.mark.slow
def test_lines_and_their_means() -> None:
    """No line is beyond the bound, or more than all of the memory; less room is never faster by
    much, and reads more."""
    table = sida_speedup("cmos", only="sssp", **SMALL)
    assert table.columns == COLUMNS
    lines, means = table.rows[: -len(RATIOS) - 1], table.rows[-len(RATIOS) - 1 :]
    assert len(lines) == len(GRAPHS) * len(RATIOS)
    for row in lines:
        over_ideal, over_fused, share, bandwidth, ahead, held, read = (x or 0.0 for x in row.ours)
        assert 0 < over_fused < over_ideal
        assert 0 < share <= 100
        assert 0 < bandwidth <= 100
        # What is moved cannot take less than all of the memory's cycles.
        assert 1 <= ahead <= 100 / bandwidth
        assert 0 <= held <= 100
        # Late elements twice: of R-MAT graphs not all are.
        assert 1 <= read < (1.9 if "R-MAT" in row.label else 2.2)
    for first in range(0, len(lines), len(RATIOS)):
        reads = [row.ours[6] or 0.0 for row in lines[first : first + len(RATIOS)]]
        assert reads == sorted(reads)
    product = 1.0
    for row in lines:
        product *= row.ours[0] or 0.0
    assert means[0].ours[0] == pytest.approx(product ** (1 / len(lines)))
    assert [row.label for row in means[1:]] == [f"geometric mean, {label}" for label in RATIOS]


@pytest.mark.slow
def test_sequences_of_jobs() -> None:
    """Solvers with a product a pass read the matrix once for each, whatever the room, and are in no
    mean."""
    table = sida_speedup("cmos", only="cg,", **SMALL)
    assert [row.label.split(",")[0] for row in table.rows] == ["cg"] * len(GRAPHS) * len(RATIOS)
    for row in table.rows:
        over_ideal, over_fused, share, _, _, held, read = (x or 0.0 for x in row.ours)
        assert 0 < over_fused < over_ideal
        assert share == pytest.approx(100 * over_fused)
        assert held == 0
        assert 1 <= read < 1.5
    table = sida_speedup("cmos", only="gmres, 2-D grid", **SMALL)
    assert len(table.rows) == len(RATIOS) + 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"target": "ecp5"}, r"sida-speedup is computed by a model: no --target, not 'ecp5'"),
        ({"settings": ["pes=3"]}, r"sida: `pes` must be a power of two in 4\.\.1024, not 3"),
        ({"only": "knn"}, r"--only must be part of the name of a line, not 'knn'"),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{said}$"):
        sida_speedup(**{"target": "cmos", "vertices": 64, **given})
