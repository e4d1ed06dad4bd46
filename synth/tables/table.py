"""A table of a paper beside ours: figures, their text form and their JSON form."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Figures", "Row", "Table"]

Figures = Sequence[float | None]


@dataclass(frozen=True)
class Row:
    """A row: a label, the papers' figures and ours; None for a missing figure.

    ``digits`` behind the point are printed: one number for all columns, or one for each.
    """

    label: str
    paper: Figures
    ours: Figures
    digits: int | Sequence[int] = 2

    def cells(self, figures: Figures) -> list[str]:
        """The text of one side."""
        each = [self.digits] * len(figures) if isinstance(self.digits, int) else self.digits
        return [
            "-" if x is None else f"{x:,.{digits}f}"
            for x, digits in zip(figures, each, strict=True)
        ]


@dataclass(frozen=True)
class Table:
    """A table of a paper beside ours."""

    table: str
    target: str
    columns: Sequence[str]
    rows: Sequence[Row]

    def to_json(self) -> dict[str, Any]:
        """``{"table", "target", "columns", "rows": [{"label", "paper", "ours"}, ...]}``."""
        rows = [{"label": r.label, "paper": [*r.paper], "ours": [*r.ours]} for r in self.rows]
        columns = list(self.columns)
        return {"table": self.table, "target": self.target, "columns": columns, "rows": rows}

    def to_csv(self) -> str:
        """Returns our figures as CSV: the columns' names after an empty one, and one line per
        row."""
        text = StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(["", *self.columns])
        lines.writerows([row.label, *row.ours] for row in self.rows)
        return text.getvalue()

    def print(self, console: Console) -> None:
        """Writes the table to a Rich console, with the papers' figures, if any, under ours."""
        from rich.table import Table as RichTable

        shown = RichTable(title=f"{self.table}, {self.target}", title_justify="left")
        compared = any(x is not None for row in self.rows for x in row.paper)
        shown.add_column("ours\npapers" if compared else "", overflow="fold")
        for index, column in enumerate(self.columns):
            texts = [row.cells(side)[index] for row in self.rows for side in (row.ours, row.paper)]
            width = max(map(len, [*texts, *column.split()]))
            shown.add_column(column, justify="right", overflow="fold", max_width=width)
        for row in self.rows:
            ours, paper = row.cells(row.ours), row.cells(row.paper)
            if any(x is not None for x in row.paper):
                ours = ["\n".join(pair) for pair in zip(ours, paper, strict=True)]
            shown.add_row(row.label, *ours)
            if compared:
                shown.add_section()
        console.print(shown)
