"""Files that tests find outside the repository: matrices, graphs, a foundry's cell library."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tilewright.hw.spec.host.wasm_tools import tool_cache


def with_tools(directory: Path) -> Path:
    """A new directory as a cache that has the tools' compiled code, which would take them a minute
    to make again, and nothing else."""
    kept = tool_cache()
    kept.mkdir(exist_ok=True)
    directory.mkdir(mode=0o700)
    (directory / "tools").symlink_to(kept)
    return directory


def empty_cache(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets a new directory, made by `with_tools`, as the cache for the rest of the test."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(with_tools(directory)))
    return directory


needs_data = pytest.mark.data
"""Marks a test, or one parameter of it, that asks for such files. Without ``TILEWRIGHT_DATA`` it is
skipped before it begins; ``pytest -m data`` runs these tests alone."""


def data_file(name: str) -> Path:
    """Returns a file below the directory that ``TILEWRIGHT_DATA`` names. Tests need the mark
    :data:`needs_data`; without it they fail if there is no data."""
    directory = os.environ.get("TILEWRIGHT_DATA")
    if not directory:
        pytest.fail(f"a test that needs {name} must be marked `needs_data`")
    return Path(directory) / name


def real_library() -> Path:
    """A foundry's cell library."""
    return data_file("liberty/gscl45nm.lib")


def real_libraries() -> Path:
    """A folder of several libraries, by their names."""
    return data_file("liberty")
