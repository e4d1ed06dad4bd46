"""The page of the TCU model: its examples run, and it names every command, and every algorithm."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.apps.tcu.algorithms import ALGORITHMS
from tilewright.registry import commands
from tilewright.verif.kit.pages import examples, page

PAGE = page("tcu.md")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = examples(PAGE, "python")
    assert blocks
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})


def test_everything_is_named() -> None:
    text = PAGE.read_text()
    ours = [name for name, work in commands().items() if ".apps.tcu." in work.function]
    assert "strassen" in ours
    missing = [name for name in ours if f"    tilewright run {name} " not in text]
    missing += [name for name in commands("tcu") if f"    tilewright tcu {name}" not in text]
    missing += [name for name in ALGORITHMS if f"`{name}`" not in text]
    assert missing == []
