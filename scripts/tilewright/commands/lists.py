"""The names that stand behind a command, tables or commands of a group: grouped, one line each."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from itertools import groupby
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from ..hw.spec.unit import named_object
from ..registry import commands
from . import COMMANDS

if TYPE_CHECKING:
    from ..registry import Work

__all__ = ["print_list"]


def print_list(command: str) -> None:
    """Print the names that a command of ``COMMANDS`` accepts under the titles of their groups: one
    line each with its summary, wrapped on a terminal."""
    columns = get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 1000
    listed = COMMANDS[command].listed
    works: Mapping[str, Work] = named_object(listed)() if listed else commands(command)
    titles = list(dict.fromkeys(work.group for work in works.values()))
    ordered = sorted(works.items(), key=lambda item: titles.index(item[1].group))
    width = max(map(len, works)) + 4
    for title, members in groupby(ordered, key=lambda item: item[1].group):
        if title:
            print(title)
        for name, work in members:
            print(textwrap.fill(
                work.summary, columns, initial_indent=f"  {name:{width - 2}}",
                subsequent_indent=" " * width, break_on_hyphens=False,
            ))  # fmt: skip
