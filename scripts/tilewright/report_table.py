"""The console on which commands report, and their tables of labels and texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["console_of_reports", "print_figures", "print_rows"]

_UNBOUNDED = 1 << 16
"""Columns; more than any table has."""


def console_of_reports() -> Console:
    """The rich console of standard output; 120 columns where that is no terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def print_figures(console: Console, table: Table) -> None:
    """Print a table whose cells no line may break: whole where standard output is no terminal,
    however wide that is; at a terminal as wide as that."""
    given = console.width
    if not console.is_terminal:
        options = console.options.update(max_width=_UNBOUNDED)
        console.width = max(given, console.measure(table, options=options).maximum)
    console.print(table)
    console.width = given


def print_rows(title: str, rows: Iterable[tuple[str, str]]) -> Console:
    """Print labels and the texts beside them; the console, for what comes below."""
    from rich.table import Table

    table = Table(title=title, show_header=False, title_justify="left", title_style="bold")
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for label, text in rows:
        table.add_row(label, text)
    console = console_of_reports()
    console.print(table)
    return console
