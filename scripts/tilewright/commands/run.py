"""``tilewright run``: the group of the registered computations."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from .registered_group import registered_group

__all__ = ["run"]


def run(words: Sequence[str]) -> typer.Typer:
    """Run a whole computation on a unit and check it against a reference."""
    return registered_group("run", words)
