"""Packages that only some applications need."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ...errors import UserError

__all__ = ["check_installed", "need"]


def need(module: str, package: str) -> Any:
    """A module of the extra `apps`; UserError that names the extra if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise _missing(package) from None


def check_installed(module: str, package: str) -> None:
    """Raise UserError as `need` does, early: the package is looked for, and not imported."""
    if find_spec(module.partition(".")[0]) is None:
        raise _missing(package)


def _missing(package: str) -> UserError:
    return UserError(
        f"{package} is not installed; it comes with the extra `apps`: "
        f"pip install 'tilewright[apps]'"
    )
