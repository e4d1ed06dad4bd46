"""Pages of the reference, one per command: its arguments and options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from typer.main import get_command

from ..commands import COMMANDS
from ..commands.application import application
from ..hw.spec.unit import named_object
from ..registry import commands
from .markdown import table

__all__ = ["command_pages"]


def command_pages() -> dict[str, str]:
    """Returns the page of each command by its name; that of a group has all commands of the group,
    that of a command with names, such as ``table``, all names."""
    return {name: "\n".join(_page(name)) for name in COMMANDS}


def _page(name: str) -> Iterator[str]:
    command = COMMANDS[name]
    yield f"# `tilewright {name}`\n"
    if command.group:
        yield f"{command.summary}\n"
        for one in commands(name):
            yield f"## `{one}`\n"
            yield from _described(_found(name, one), f"tilewright {name} {one}")
        return
    yield from _described(_found(name), f"tilewright {name}")
    if command.listed:
        yield "## Names\n"
        yield from table(("name", "summary", "subject"), (
            (f"`{one}`", work.summary, work.group)
            for one, work in named_object(command.listed)().items()
        ))  # fmt: skip


def _found(*words: str) -> Any:
    """The command that words name, as Typer has it."""
    found: Any = get_command(application(words[0], words[1:]))
    for word in words:
        found = found.commands[word]
    return found


def _described(command: Any, words: str) -> Iterator[str]:
    """The usage of a command, its text, and a table of its arguments and of its options."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    usage = [_usage(one) for one in arguments]
    yield from ("```", " ".join([words, *usage, *(["[OPTIONS]"] if options else [])]), "```\n")
    yield f"{command.help}\n"
    yield from table(
        ("argument", "meaning"), ((f"`{_usage(one)}`", one.help or "") for one in arguments)
    )
    yield from table(("option", "value", "default", "meaning"), map(_option, options))


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return f"{name if argument.required else f'[{name}]'}{'...' if argument.nargs != 1 else ''}"


def _option(option: Any) -> Sequence[str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f"`{option.metavar or option.name.upper()}`"
    default = option.default
    said = "" if default is None or default is False or callable(default) else f"`{default}`"
    return names, value, said, option.help or ""
