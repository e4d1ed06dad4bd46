"""``tilewright completion``: what a shell needs to complete our words.

The shell asks then by a variable of the environment, in Typer's way.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ..errors import UserError
from ..hw.spec.host.words import not_one_of
from . import ASKED

__all__ = ["SHELLS", "completion"]

SHELLS = ("bash", "zsh", "fish")


def _shells() -> list[str]:
    return list(SHELLS)


def completion(
    shell: Annotated[
        str,
        typer.Argument(metavar="SHELL", help="bash, zsh or fish.", autocompletion=_shells),
    ],
) -> None:
    """Print a script that lets a shell complete commands, units, tables and options."""
    if shell not in SHELLS:
        raise UserError(not_one_of("the shell", SHELLS, shell))
    from .application import application

    os.environ[ASKED] = f"source_{shell}"
    try:
        application(None, (), completed=True)(prog_name="tilewright")
    finally:
        del os.environ[ASKED]
