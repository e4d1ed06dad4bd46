"""Whole computations on a unit's RTL: the commands of ``tilewright run``."""

from __future__ import annotations

import typer

from ..hw.spec.unit import named_object
from ..registry import commands

__all__ = ["register"]


def register(app: typer.Typer, only: str | None = None) -> None:
    """Add the registered commands to the group ``tilewright run``; if there is one named ``only``,
    just that, so that no other is imported.

    They raise `tilewright.errors.UserError` for bad input and exit with status 1 if a result
    differs from the model's.
    """
    from .common.options import expanded

    known = commands()
    for name in [only] if only in known else known:
        app.command(name)(expanded(named_object(known[name].function)))
