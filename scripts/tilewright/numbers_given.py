"""Numbers on a command line: what is no number, or not in range, gets a line with its value."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf

from .errors import UserError

__all__ = ["real", "whole"]

_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


def whole(option: str, least: int | None = None, most: int | None = None) -> Callable[[str], int]:
    """The reader of an integer for an option of this name; raises UserError."""

    def read(text: str) -> int:
        if not _WHOLE.fullmatch(str(text)):
            raise _refusal(option, "an integer", least, most, text)
        value = int(text)
        if not (-inf if least is None else least) <= value <= (inf if most is None else most):
            raise _refusal(option, "an integer", least, most, text)
        return value

    return read


def real(option: str, least: float, most: float) -> Callable[[str], float]:
    """The reader of a finite number for an option of this name; raises UserError."""

    def read(text: str) -> float:
        if not _REAL.fullmatch(str(text)) or not least <= float(text) <= most:
            raise _refusal(option, "a number", least, most, text)
        return float(text)

    return read


def _refusal(
    option: str, kind: str, least: float | None, most: float | None, text: str
) -> UserError:
    if least is not None and most is not None:
        kind += f" in {least}..{most}"
    elif least is not None:
        kind += f" of at least {least}"
    return UserError(f"{option} must be {kind}, not {str(text)[:60]!r}")
