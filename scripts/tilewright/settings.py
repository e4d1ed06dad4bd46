"""From what a user types, a unit's configuration."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import UserError, user_errors
from .hw.catalogue import UNITS, Unit
from .hw.spec.config import Config

__all__ = ["choose_unit", "read_config"]


def choose_unit(name: str) -> Unit:
    """The unit of that name. Raises UserError if there is none."""
    if name not in UNITS:
        raise UserError(f"unit must be one of {', '.join(UNITS)}, not {name!r}")
    return UNITS[name]


def _from_file(path: Path) -> dict[str, Any]:
    with user_errors(OSError):
        content = path.read_bytes()
    with user_errors(tomllib.TOMLDecodeError, UnicodeDecodeError, about=f"{path} is not TOML"):
        return tomllib.loads(content.decode("utf-8"))


def read_config(unit: Unit, file: Path | None, settings: Sequence[str]) -> Config:
    """The configuration from a TOML file and NAME=VALUE texts, the latter going before.

    Raises UserError for an unreadable or malformed file, an unknown parameter or a value that
    is not allowed.
    """
    config = unit.config()
    if file is not None:
        values = _from_file(file)
        with user_errors(ValueError, TypeError, about=str(file)):
            config = unit.config.from_settings(values)
    else:
        values = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise UserError(f"--set must be NAME=VALUE, not {setting!r}")
        values[name.strip()] = text.strip()
    if settings:
        with user_errors(ValueError, TypeError, about=unit.name):
            config = unit.config.from_settings(values)
    return config
