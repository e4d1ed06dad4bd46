"""The page of GTA's applications: its examples run, and it names every command."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.registry import commands
from tilewright.verif.kit.pages import examples, page

PAGE = page("gta-applications.md")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = examples(PAGE, "python")
    assert len(blocks) == 2
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})


def test_every_command_is_there() -> None:
    text = PAGE.read_text()
    ours = [name for name, work in commands().items() if ".apps.gta." in work.function]
    assert len(ours) == 8
    for name in [*ours, "gemm"]:
        assert f"| `{name}` |" in text
        assert f"    tilewright run {name} " in text
