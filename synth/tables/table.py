"""A table of a paper beside ours: figures, their text form and their JSON form."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

__all__ = ["Drawing", "Figures", "Row", "Table", "Tables", "csv_of"]

Figures = Sequence[float | None]
Drawing = Callable[["Figure"], None]
"""Draws into an empty figure of Matplotlib."""


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
    drawing: Drawing | None = field(default=None, compare=False, repr=False)
    """A special drawing; None for bars."""

    @property
    def parts(self) -> Sequence[Table]:
        """The table itself: the one part of what ``tilewright table`` measures."""
        return [self]

    def to_json(self) -> dict[str, Any]:
        """``{"table", "target", "columns", "rows": [{"label", "paper", "ours"}, ...]}``."""
        rows = [{"label": r.label, "paper": [*r.paper], "ours": [*r.ours]} for r in self.rows]
        columns = list(self.columns)
        return {"table": self.table, "target": self.target, "columns": columns, "rows": rows}

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


@dataclass(frozen=True)
class Tables:
    """Several tables under one name.

    Members
    -------
    table: the name
    parts: the tables
    notes: lines to read with them; None if the JSON form has no such member
    """

    table: str
    parts: Sequence[Table]
    notes: Sequence[str] | None = None
    drawing: Drawing | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """``{"table", "notes", "parts": [as Table.to_json, ...]}``, without ``notes`` if None."""
        notes = {} if self.notes is None else {"notes": [*self.notes]}
        return {"table": self.table, **notes, "parts": [part.to_json() for part in self.parts]}

    def print(self, console: Console) -> None:
        """Writes the tables to a Rich console, and the notes after them."""
        for part in self.parts:
            part.print(console)
        for note in self.notes or ():
            console.print(note)


def csv_of(parts: Iterable[Table]) -> str:
    """Returns tables as CSV, with an empty line between two: the title and the columns' names, and
    one line per row. A row with figures of a paper has a second line, "paper: " and its label."""
    text = StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for number, part in enumerate(parts):
        if number:
            lines.writerow([])
        lines.writerow([part.table, *part.columns])
        for row in part.rows:
            lines.writerow([row.label, *row.ours])
            if any(x is not None for x in row.paper):
                lines.writerow([f"paper: {row.label}", *row.paper])
    return text.getvalue()
