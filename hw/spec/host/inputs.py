"""Files that users name and commands read."""

from __future__ import annotations

from pathlib import Path

from .notes import note_file

__all__ = ["read_bytes"]


def read_bytes(path: Path) -> bytes:
    """The content of a file, of which a note is taken. Raises OSError if it cannot be read."""
    content = path.read_bytes()
    note_file(str(path), content)
    return content
