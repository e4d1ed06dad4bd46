"""Packages that only some applications need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...errors import UserError

__all__ = ["need"]


def need(module: str, package: str) -> Any:
    """A module of the extra `apps`; UserError that names the extra if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise UserError(
            f"{package} is not installed; it comes with the extra `apps`: "
            f"pip install 'tilewright[apps]'"
        ) from None
