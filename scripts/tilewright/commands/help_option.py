"""Commands whose --help is a flag that is False where it is not given, and wraps paragraphs.

Typer's own flag is None there, and to find that this is no bool it imports Pydantic, for a quarter
of the time that a help takes. Typer also breaks lines where the docstring does, besides where the
terminal ends.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["HelpedCommand", "HelpedGroup"]


class _Helped:
    help: str | None

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.default = False
        return option

    def format_help(self, ctx: Any, formatter: Any) -> None:
        paragraphs = (self.help or "").split("\n\n")
        self.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        super().format_help(ctx, formatter)  # type: ignore[misc]


class HelpedCommand(_Helped, TyperCommand):
    """A command with such an option."""


class HelpedGroup(_Helped, TyperGroup):
    """A group with such an option."""
