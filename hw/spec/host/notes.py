"""Collects notes while a command works, for its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from mmap import mmap
from typing import Any

__all__ = ["InputFile", "Notes", "note_config", "note_file", "noting"]


@dataclass(frozen=True)
class InputFile:
    """A file that was read: its name as it was given, the SHA-256 of its content in hexadecimal,
    and its size."""

    file: str
    sha256: str
    bytes: int


@dataclass
class Notes:
    """Without repetition, in the order of their coming.

    Members
    -------
    files: that were read
    configs: units that were built or measured, each with its configuration
    """

    files: list[InputFile] = field(default_factory=list)
    configs: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)


_all: list[Notes] = []
"""Notes of every caller that collects them at present."""


@contextmanager
def noting() -> Iterator[Notes]:
    """Notes that are collected in the context."""
    notes = Notes()
    _all.append(notes)
    try:
        yield notes
    finally:
        _all[:] = [other for other in _all if other is not notes]


def note_file(name: str, content: bytes | mmap) -> None:
    """A file was read."""
    if _all:
        from hashlib import sha256

        one = InputFile(name, sha256(content).hexdigest(), len(content))
        for notes in _all:
            if one not in notes.files:
                notes.files.append(one)


def note_config(unit: str, config: Mapping[str, Any]) -> None:
    """A unit is built or measured, in a configuration."""
    one = (unit, config)
    for notes in _all:
        if one not in notes.configs:
            notes.configs.append(one)
