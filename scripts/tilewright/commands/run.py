"""``tilewright run``: the group of the registered computations."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from .application import not_used
from .help_option import HelpedGroup

__all__ = ["run"]


def run(words: Sequence[str]) -> typer.Typer:
    """Run a whole computation on a unit, checked against a reference.

    Of the computations, the group has the one that the first of ``words`` names; if that is
    none, of all what the help of the group says.
    """
    from ..registry import commands

    known = commands()
    used = next((word for word in words if not word.startswith("-")), None)
    group = typer.Typer(cls=HelpedGroup)
    if used in known:
        from ..apps import register

        register(group, only=used)
    else:
        for name, work in known.items():
            group.command(name, help=work.summary)(not_used)
    return group
