"""The page of Tensaurus' applications: its examples print what they say."""

from __future__ import annotations

import re

import pytest
from tilewright.registry import commands
from tilewright.verif.kit.pages import page

PAGE = page("tensaurus-applications.md")


def python_blocks() -> list[str]:
    """Indented text that imports or computes, block by block."""
    blocks: list[str] = []
    block: list[str] = []
    for line in [*PAGE.read_text().splitlines(), "end"]:
        if line.startswith("    ") or (block and not line):
            block.append(line[4:])
            continue
        if block and any(word.startswith("from ") for word in block):
            blocks.append("\n".join(block))
        block = []
    return blocks


def test_examples_print_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = python_blocks()
    assert len(blocks) == 3
    names: dict[str, object] = {}
    said = 0
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
        printed = " ".join(capsys.readouterr().out.split())
        wanted = re.findall(r"print\(.*\)\s+# ([^:\n]*)", block)
        said += len(wanted)
        assert printed == " ".join(wanted)
    assert said == 5


def test_every_command_is_on_the_page() -> None:
    text = PAGE.read_text()
    ours = [
        name
        for name, work in commands().items()
        if ".tensors." in work.function or ".networks." in work.function
    ]
    assert len(ours) == 8
    assert [name for name in ours if f"`{name} " not in text] == []
