"""Applications that run whole computations on units, and their commands."""

from __future__ import annotations

import typer

from ..hw.spec.unit import named_object
from ..registry import commands
from ..settings import expanded

__all__ = ["register"]


def register(app: typer.Typer, only: str | None = None, of: str = "run") -> None:
    """Add the registered commands of a group to it; if there is one named ``only``, just that, so
    that no other is imported.

    They raise `tilewright.errors.UserError` for bad input and exit with status 1 if a result
    differs from the model's.
    """
    known = commands(of)
    for name in [only] if only in known else known:
        app.command(name)(expanded(named_object(known[name].function)))
