"""Caches of a test's own."""

from __future__ import annotations

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
