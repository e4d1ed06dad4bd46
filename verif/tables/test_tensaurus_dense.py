"""The table of dense tensors on Tensaurus: every kernel keeps the array busy."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.cli import main
from tilewright.tables.tensaurus_dense import CASES, FULL, tensaurus_dense


@pytest.mark.long
@pytest.mark.parametrize("full", [False, True])
def test_dense_tiles_fill_the_array(full: bool) -> None:
    """At least 99 % of an operation a lane and cycle, from the first product to the last; of a
    small array and of the default one, whose library takes minutes to build."""
    said: list[str] = []
    table = tensaurus_dense("cmos", said.append, full=full)
    assert said[1:] == [row.label for row in table.rows] == list(FULL if full else CASES)
    for row in table.rows:
        between, whole = row.ours
        assert between is not None
        assert whole is not None
        assert 99 <= between <= 100, row.label
        assert 90 <= whole <= between, row.label


def test_no_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "dense.json"
    assert main(["table", "tensaurus-dense", "--target", "ecp5", "--json", str(target)]) == 2
    assert "no --target, not 'ecp5'" in capsys.readouterr().err
    assert not target.exists()
