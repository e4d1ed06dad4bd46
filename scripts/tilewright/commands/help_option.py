"""The option --help as a flag that is False where it is not given.

Typer's own is None there, and to find that this is no bool it imports Pydantic, for a quarter of
the time that a help takes.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["HelpedCommand", "HelpedGroup"]


class _Helped:
    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.default = False
        return option


class HelpedCommand(_Helped, TyperCommand):
    """A command with such an option."""


class HelpedGroup(_Helped, TyperGroup):
    """A group with such an option."""
