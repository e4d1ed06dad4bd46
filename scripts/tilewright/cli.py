"""The command line: ``tilewright COMMAND ...``.

Exit status 0 when what was asked for holds, 1 when a check failed, 2 for bad usage.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from .commands import ASKED, COMMANDS
from .errors import CheckFailed, UserError, say, told
from .hw.spec.host.words import unknown

__all__ = ["main", "run_command"]


def _split(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The command that is used, the first word that is not an option, and the words after it.

    Raises UserError for an unknown command.
    """
    place = next((place for place, word in enumerate(words) if not word.startswith("-")), None)
    if place is None:
        return None, ()
    name, behind = words[place], words[place + 1 :]
    if name not in COMMANDS:
        from .registry import commands

        groups = [one for one, command in COMMANDS.items() if command.group]
        known = [*COMMANDS, *(f"{group} {one}" for group in groups for one in commands(group))]
        raise UserError(unknown("command", name, known, "tilewright --help"))
    if COMMANDS[name].group and behind and not behind[0].startswith("-"):
        from .registry import commands

        if behind[0] not in commands(name):
            kind = f"command of {name}"
            raise UserError(unknown(kind, behind[0], commands(name), f"tilewright {name}"))
    return name, behind


def _option_refusal(error: Any, words: Sequence[str]) -> str:
    """The refusal of an option that a command does not have."""
    from .choices import entry_in

    context, entry = error.ctx, entry_in(words)
    parameter = error.option_name.lstrip("-").replace("-", "_")
    if entry and parameter in [item.name for item in entry.unit.config.parameters()]:
        return f"unknown option {error.option_name!r}; did you mean '--set {parameter}=VALUE'?"
    known = [name for option in context.command.get_params(context) for name in option.opts]
    return unknown("option", error.option_name, known, f"{context.command_path} --help")


def _asked() -> tuple[str | None, Sequence[str]]:
    """The same of what a shell asks about, which need not be right yet."""
    from .choices import asked_words

    words = asked_words()
    return (words[0], words[1:]) if words and words[0] in COMMANDS else (None, ())


def run_command(words: Sequence[str]) -> int:
    """Run a command line; returns its exit status. Raises UserError for a bad one, and what the
    command raises."""
    asked = ASKED in os.environ
    used, behind = _asked() if asked else _split(words)
    if used and not (asked or behind) and (COMMANDS[used].group or COMMANDS[used].listed):
        from .commands.lists import print_list

        print_list(used)
        if COMMANDS[used].group:
            print(f"`tilewright {used} NAME --help` shows the arguments and options of one.")
        return 0
    import typer

    from .commands.application import application

    click_error: type[Exception] = next(
        kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
    )
    app = application(used, behind, completed=asked)
    try:
        status = app(list(words), prog_name="tilewright", standalone_mode=False)
    except click_error as error:
        if hasattr(error, "possibilities") and hasattr(error, "option_name"):
            raise UserError(_option_refusal(error, words)) from None
        message = getattr(error, "format_message", error.__str__)()
        context = getattr(error, "ctx", None)
        if message:  # none if the help was shown for want of arguments
            usage = f" (see `{context.command_path} --help`)" if context else ""
            raise UserError(f"{message.rstrip('.')}{usage}") from None
        return 2
    except typer.Abort:
        return 130
    except SystemExit as end:  # behind the answer to a shell
        status = end.code
    return status if isinstance(status, int) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns its exit status and writes at most one line to stderr."""
    from .hw.spec.host.programs import ProgramError

    try:
        return run_command(sys.argv[1:] if arguments is None else arguments)
    except CheckFailed as error:
        say(error)
        return 1
    except (UserError, ProgramError) as error:
        say(error)
        return 2
    except OSError as error:
        say(told(error))
        return 2
    except MemoryError as error:
        say(f"there is not enough memory: {error or 'what is left cannot be told'}")
        return 2
    except KeyboardInterrupt:
        return 130
