"""``tilewright run``: the group of the registered computations."""

from __future__ import annotations

from collections.abc import Sequence

import typer

__all__ = ["run"]


def run(words: Sequence[str]) -> typer.Typer:
    """Run a whole computation on a unit, checked against a reference.

    Of the computations, the group has the one that the first of ``words`` names, or all.
    """
    from ..apps import register

    group = typer.Typer()
    register(group, only=words[0] if words else None)
    return group
