"""Files that tests find outside the repository: matrices, graphs, a foundry's cell library."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
