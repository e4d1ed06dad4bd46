"""Errors that are the user's to mend, and one that is ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import gettempdir

from .hw.spec.host.cache import cache_directory, full

__all__ = ["CheckFailed", "UserError", "say", "told", "user_errors"]


class UserError(Exception):
    """Bad input or a missing tool: one line that names it, its value and what is allowed."""


class CheckFailed(RuntimeError):
    """A check of ours did not hold, so that something is wrong with Tilewright: one line."""


def say(error: object) -> None:
    """Write an error to stderr, in one line."""
    print(f"error: {' '.join(str(error).split())}", file=sys.stderr)


def told(error: OSError, *, named: bool = True) -> str:
    """Returns the operating system's reason for an error, after the file's name if ``named``."""
    why = error.strerror or str(error)
    if error.filename:
        return f"{error.filename}: {why}" if named else why
    if not full(why):
        return why
    return f"{why}: in the cache {cache_directory()}, or in {gettempdir()} for temporary files"


@contextmanager
def user_errors(*kinds: type[Exception], about: str = "") -> Iterator[None]:
    """Turn exceptions of these kinds into UserErrors, their text behind ``about``, if it does not
    begin with that."""
    try:
        yield
    except kinds as error:
        text = told(error, named=not about) if isinstance(error, OSError) else str(error)
        behind = about and not text.startswith(f"{about}:")
        raise UserError(f"{about}: {text}" if behind else text) from None
