"""Makes a unit's configuration from what a user types."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any, get_type_hints

from .errors import UserError, user_errors
from .hw.spec.config import Config
from .hw.spec.host import inputs
from .hw.spec.host.activity import note_config
from .hw.spec.host.words import unknown
from .hw.spec.unit import Unit
from .registry import Entry, entries


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """A function that takes the fields of its dataclass parameters, one by one, by keyword.

    Typer makes options of what it sees in the signature; the function itself gets the dataclass.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    shown = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in groups:
            shown += _options(groups[parameter.name])
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            shown.append(parameter.replace(kind=kind, annotation=hints[parameter.name]))

    @wraps(function)
    def run(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{item.name: values.pop(item.name) for item in _shown(kind)})
        function(**values)

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


def _options(kind: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            item.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if item.default is MISSING else item.default,
            annotation=hints[item.name],
        )
        for item in _shown(kind)
    ]


def _shown(kind: Any) -> list[Field[Any]]:
    """The fields of a dataclass that are options, in the order of the help."""
    known = {item.name: item for item in fields(kind)}
    return [known[name] for name in getattr(kind, "shown", ()) or known]


def choose_entry(name: str) -> Entry:
    """The registered unit of that name. Raises UserError if there is none."""
    known = entries()
    if name not in known:
        raise UserError(unknown("unit", name, known, "tilewright list"))
    return known[name]


def choose_unit(name: str) -> Unit:
    """As `choose_entry`, the unit alone."""
    return choose_entry(name).unit


def _from_file(unit: Unit, path: Path) -> dict[str, Any]:
    """Reads the parameters from a TOML file, or the design of a unit that has a mapping."""
    if path.suffix == ".py":
        if "design" not in [one.name for one in unit.config.parameters()]:
            raise UserError(f"{path}: must be TOML; t2s alone accepts a mapping, a .py file")
        return {"design": str(path)}
    with user_errors(OSError):
        content = inputs.read_bytes(path)
    wrong = (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError)
    mapping = any(one.name == "design" for one in unit.config.parameters())
    kind = "TOML (a mapping's name ends in .py)" if mapping else "TOML"
    with user_errors(*wrong, about=f"{path} is not {kind}"):
        return tomllib.loads(content.decode("utf-8"))


def read_config(unit: Unit, file: Path | None, settings: Sequence[str]) -> Config:
    """The configuration from a file and NAME=VALUE texts, the latter going before. A file is TOML,
    or of a unit with a parameter ``design`` one of the mapping language.

    Raises UserError for an unreadable or malformed file, an unknown parameter or a value that
    is not allowed.
    """
    config = unit.config()
    if file is not None:
        values = _from_file(unit, file)
        with user_errors(ValueError, TypeError, about=str(file)):
            config = unit.config.from_settings(values, unit.name)
    else:
        values = {}
    given: dict[str, str] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or not name:
            raise UserError(f"--set must be NAME=VALUE, not {setting!r}")
        if name in given:
            raise UserError(
                f"--set must name a parameter once, not `{name}` as {given[name]!r} and {text!r}"
            )
        given[name] = text
    values |= given
    if settings:
        with user_errors(ValueError, TypeError, about=unit.name):
            config = unit.config.from_settings(values, unit.name)
    note_config(unit.name, config.resolved())
    return config
