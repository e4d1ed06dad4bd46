"""Locates directives in the user's file, for messages."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

__all__ = ["MappingError", "place_of_caller"]

_LANGUAGE = str(Path(__file__).parent)


class MappingError(ValueError):
    """A directive that cannot be followed; the message has its place, its name and its loop."""


def place_of_caller() -> str:
    """File and line of the innermost caller outside of the language."""
    frame: FrameType | None = sys._getframe(1)
    while frame and frame.f_code.co_filename.startswith(_LANGUAGE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else "?"
