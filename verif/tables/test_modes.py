"""The table of MatRaptor's two modes: each case is measured in both, and its rules hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.cli import main
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.tables.matraptor_modes import CASES, matraptor_modes
from tilewright.tables.mode_rates import Case, compare_modes, modes_device
from tilewright.verif.matraptor.jobs import fits

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
