"""Errors that are the user's to mend."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["UserError", "say", "user_errors"]


class UserError(Exception):
    """Bad input or a missing tool: one line that names it, its value and what is allowed."""


def say(error: object) -> None:
    """Write an error to stderr, in one line."""
    print(f"error: {' '.join(str(error).split())}", file=sys.stderr)


@contextmanager
def user_errors(*kinds: type[Exception], about: str = "") -> Iterator[None]:
    """Turn exceptions of these kinds into UserErrors, their text behind ``about``."""
    try:
        yield
    except kinds as error:
        if isinstance(error, OSError) and error.strerror:
            named = error.filename and not about
            text = f"{error.filename}: {error.strerror}" if named else error.strerror
        else:
            text = str(error)
        raise UserError(f"{about}: {text}" if about else text) from None
