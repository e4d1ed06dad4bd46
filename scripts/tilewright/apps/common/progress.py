"""What a terminal shows while a computation takes its time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["working"]


@contextmanager
def working(what: str, console: Console | None = None) -> Iterator[None]:
    """Show on stderr, if it is a terminal, that something is under way."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
