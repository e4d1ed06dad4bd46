"""Tables as text, as CSV and as plots: the papers' figures beside ours, where there are any."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tilewright.cli import main
from tilewright.commands.table import other_outputs
from tilewright.errors import UserError
from tilewright.registry import System, Work, registered
from tilewright.synth.tables import Row, Table, Tables, csv_of
from tilewright.tables.plot import has_figures
from tilewright.verif.kit.plots import lengths, panels, points

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


ROWS = [Row("a <b>", [None, 3.0], [1.0, None]), Row("c", [None, None], [500.0, 0.5])]


def made(target: str, progress: Callable[[str], None] = print) -> Tables:
    """Two tables, of which one has figures of a paper."""
    return Tables("made", [Table("one", target, ["x", "y"], ROWS), Table("two", "RTL", ["z"], [])])


@pytest.fixture
def made_here() -> Iterator[None]:
    """Registers a table ``made``."""
    work = Work(f"{made.__module__}:made", "A table that nothing is measured for.")
    with registered(System(name="here", entries=(), tables={"made": work})):
        yield


def test_bars() -> None:
    """A panel for each column: bars of ours, marks of the paper's. The axis is logarithmic if
    figures differ much. A table without figures has no panel."""
    x, y = panels(made("cmos"))
    assert lengths(x) == [1, 500]
    assert x.get_xscale() == "log"
    assert points(x) == []
    assert lengths(y) == [0.5]
    assert points(y, "paper") == [(3, 0)]
    assert y.get_xscale() == "linear"


@pytest.mark.usefixtures("made_here")
@pytest.mark.parametrize(
    ("name", "begin"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.PDF", b"%PDF")]
)
def test_files(name: str, begin: bytes, tmp_path: Path) -> None:
    """The same figures give the same bytes."""
    files = [tmp_path / name, tmp_path / f"again.{name}"]
    for file in files:
        assert main(["table", "made", "--csv", str(tmp_path / "a.csv"), "--plot", str(file)]) == 0
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(begin)
    assert first == second
    rows = [*csv.reader((tmp_path / "a.csv").read_text().splitlines())]
    assert rows == [
        ["one", "x", "y"], ["a <b>", "1.0", ""], ["paper: a <b>", "", "3.0"], ["c", "500.0", "0.5"],
        [], ["two", "z"],
    ]  # fmt: skip


def test_a_table_without_figures_is_not_plotted(tmp_path: Path) -> None:
    empty = Table("t", "cmos", ["x"], [Row("a", [None], [None])])
    assert not has_figures(empty.parts)
    with pytest.raises(UserError, match="--plot: the table has no results to plot"):
        other_outputs(None, tmp_path / "a.svg")(empty)


def test_csv_of_one_table() -> None:
    assert csv_of(Table("t", "cmos", ["x"], [Row("a", [None], [2])]).parts) == "t,x\na,2\n"


@pytest.mark.usefixtures("made_here")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--csv", "a.txt"], "a.txt: must end in .csv, not '.txt'"),
        (["--plot", "a.gif"], "a.gif: must end in .svg, .png or .pdf, not '.gif'"),
        (["--full"], "made takes no --full; its options are --target, --csv, --plot, --json"),
    ],
)
def test_what_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "made", *words]) == 2
    assert said in capsys.readouterr().err
