"""Tables as text: the papers' figures under ours, where there are any."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from tilewright.synth.tables import Row, Table

pytestmark = pytest.mark.quick


def printed(table: Table) -> list[str]:
    file = StringIO()
    table.print(Console(file=file, width=80))
    return [line.strip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("paper", [None, 7.5])
def test_what_there_is_no_paper_s_figure_of(paper: float | None) -> None:
    rows = [Row("one", [paper], [1.25]), Row("two", [None], [2.0], digits=0)]
    lines = printed(Table("some", "cmos", ["area"], rows))
    compared = paper is not None
    assert lines[0] == "some, cmos"
    assert any("papers" in line for line in lines) is compared
    assert [line.split() for line in lines if line.startswith("│")] == [
        ["│", "one", "│", "1.25", "│"],
        *([["│", "│", "7.50", "│"]] if compared else []),
        ["│", "two", "│", "2", "│"],
    ]
    assert sum(line.startswith("├") for line in lines) == compared
