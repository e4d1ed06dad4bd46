"""A group whose commands the registrations bring."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from .application import not_used
from .help_option import HelpedGroup

__all__ = ["registered_group"]


def registered_group(name: str, words: Sequence[str]) -> typer.Typer:
    """The group of this name, with the command that the first of ``words`` names; if that is
    none, with what the help of the group says of all."""
    from ..registry import commands

    known = commands(name)
    used = next((word for word in words if not word.startswith("-")), None)
    group = typer.Typer(cls=HelpedGroup)
    if used in known:
        from ..apps import register

        register(group, only=used, of=name)
    else:
        for command, work in known.items():
            group.command(command, help=work.summary, rich_help_panel=work.group or None)(not_used)
    return group
