"""The command ``simulate``, for every unit that is registered, in its small configuration."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.cli import main
from tilewright.registry import entries

pytestmark = pytest.mark.long


def _text(value: Any) -> str:
    """A parameter as it is typed."""
    return ",".join(value) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize("unit", entries())
def test_random_operations(unit: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = entries()[unit].small.items()
    settings = [word for name, value in small for word in ("--set", f"{name}={_text(value)}")]
    assert main(["simulate", unit, *settings, "--count", "20", "--seed", "3"]) == 0
    said = capsys.readouterr().out
    counted = "20 operations" if entries()[unit].unit.jobs is None else "20 jobs"
    assert f"{unit}: pass, {counted}" in said
