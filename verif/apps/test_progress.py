"""What a terminal shows while a command computes."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from tilewright.apps.common.progress import working
from tilewright.apps.common.words import counted


def test_a_terminal_alone_is_told() -> None:
    for terminal in (True, False):
        shown = StringIO()
        with working("computing", Console(file=shown, force_terminal=terminal)):
            pass
        assert ("computing" in shown.getvalue()) == terminal
        assert bool(shown.getvalue()) == terminal


def test_one_is_no_plural() -> None:
    assert [counted(n, "job") for n in (0, 1, 2000)] == ["0 jobs", "1 job", "2,000 jobs"]
    assert [counted(n, "pass", "passes") for n in (1, 2)] == ["1 pass", "2 passes"]
