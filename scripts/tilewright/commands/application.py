"""The Typer application around the command that is used."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from .. import __version__
from . import COMMANDS, Command

__all__ = ["application"]


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
    """Generate tensor accelerators, simulate them, measure them."""


def _not_used() -> None:
    raise AssertionError("a command that is run has been imported")


def _function(command: Command) -> Any:
    module, _, attribute = command.function.partition(":")
    return getattr(import_module(module), attribute)


def application(used: str | None, words: Sequence[str]) -> typer.Typer:
    """All commands: the one that is used, with ``words`` behind its name, as it is; of the others
    what the help of the whole says."""
    app = typer.Typer(name="tilewright", add_completion=False, no_args_is_help=True)
    app.callback()(_options)
    for name, command in COMMANDS.items():
        if name != used:
            app.command(name, help=command.summary)(_not_used)
        elif command.group:
            app.add_typer(_function(command)(words), name=name, help=command.summary)
        else:
            app.command(name)(_function(command))
    return app
