"""Options of ``run`` that name one of several things by its number count from 1, as Matrix Market
and .tns files do, and say so."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer
from tilewright.commands.application import application
from tilewright.registry import commands

pytestmark = pytest.mark.quick

COUNTED = {
    *((name, "--source") for name in ("bfs", "khop", "sssp")),
    *((name, flag) for name in ("spmttkrp", "spttmc") for flag in ("--mode", "--factor")),
}
"""Some of them."""


def options(name: str) -> list[Any]:
    """Returns the options of a command of ``run``."""
    command: Any = typer.main.get_command(application("run", [name]))
    return [
        option
        for option in command.commands["run"].commands[name].params
        if option.param_type_name == "option"
    ]


def test_numbers_count_from_1() -> None:
    """Options whose help says where they count from say 1."""
    found = set()
    for name in commands():
        for option in options(name):
            text = str(option.help)
            if option.opts[-1] not in ("-o", "--output", "--zero-based"):
                assert not re.search(r"\bfrom 0\b", text), (name, option.opts)
            if "counted from 1" in text:
                found.add((name, option.opts[-1]))
    assert found >= COUNTED
