"""The Typer application around the command that is used."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from .. import __version__
from . import COMMANDS
from .help_option import HelpedCommand, HelpedGroup
from .invoked import command_class

__all__ = ["application", "not_used"]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tilewright {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_print_version,
                     is_eager=True),
    ] = False,
) -> None:  # fmt: skip
    """Generate tensor accelerators, simulate them and measure them."""


def not_used() -> None:
    """Stands for a command that is only listed."""
    raise AssertionError("a command that is run has been imported")


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def _with_list(kind: Any, name: str) -> type[HelpedCommand]:
    """A kind of command whose help ends with the list of what it accepts."""

    class WithList(kind):  # type: ignore[misc]
        def format_help(self, ctx: Any, formatter: Any) -> None:
            from .lists import print_list

            super().format_help(ctx, formatter)
            print_list(name)

    return WithList


def application(used: str | None, words: Sequence[str], *, completed: bool = False) -> typer.Typer:
    """All commands: the one that is used, with ``words`` behind its name, as it is; of the others
    what the help of the whole says.

    ``completed``: a shell has asked what may stand in a place, or how to ask.
    """
    app = typer.Typer(
        name="tilewright",
        cls=HelpedGroup,
        add_completion=completed,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    kind = command_class([used or "", *words])
    for name, command in COMMANDS.items():
        if name != used:
            app.command(name, help=command.summary)(not_used)
        elif command.group:
            group = _named(command.function)(words)
            for one in group.registered_commands:
                one.cls = kind
            app.add_typer(group, name=name, help=command.summary)
        else:
            shown = _with_list(kind, name) if command.listed else kind
            app.command(name, cls=shown)(_named(command.function))
    return app
