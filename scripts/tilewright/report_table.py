"""The console on which commands report, and their tables of labels and texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console_of_reports", "print_rows"]


def console_of_reports() -> Console:
    """The rich console of standard output; 120 columns where that is no terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


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
