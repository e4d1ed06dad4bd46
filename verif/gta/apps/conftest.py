"""A runner of commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.verif.kit.commands import Run

__all__ = ["run"]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(tmp_path, capsys)
