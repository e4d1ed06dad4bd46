"""Files that users name and commands read."""

from __future__ import annotations

from mmap import ACCESS_READ, mmap
from pathlib import Path

from .activity import note_file

__all__ = ["note_content", "read_bytes"]


def read_bytes(path: Path) -> bytes:
    """Returns the content of a file, and notes it. Raises OSError if it cannot be read."""
    content = path.read_bytes()
    note_file(str(path), content)
    return content


def note_content(path: Path) -> None:
    """Takes the note of a regular file that is not empty, and that is not read as a whole, however
    large it is. Raises OSError if it cannot be read."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        note_file(str(path), content)
