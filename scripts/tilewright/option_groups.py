"""Dataclasses whose fields become options of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

__all__ = ["expanded"]


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
