"""The console on which commands report, and their tables of labels and texts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["changed_rows", "console_of_reports", "print_figures", "print_rows"]

_UNBOUNDED = 1 << 16
"""Columns; more than any table has."""
_changes: list[Callable[[str], str | None]] = []


def console_of_reports() -> Console:
    """The rich console of standard output; 120 columns where that is no terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


@contextmanager
def changed_rows(change: Callable[[str], str | None]) -> Iterator[None]:
    """Meanwhile `print_rows` prints what ``change`` makes of each text, without the rows of which
    it makes None."""
    _changes.append(change)
    try:
        yield
    finally:
        _changes.pop()


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

    change = _changes[-1] if _changes else None
    title = (change(title) or "") if change else title
    table = Table(title=title, show_header=False, title_justify="left", title_style="bold")
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for label, text in rows:
        shown = change(text) if change else text
        if shown is not None:
            table.add_row(label, shown)
    console = console_of_reports()
    console.print(table)
    return console
