"""The command line: ``tilewright COMMAND ...``.

Exit status 0 when what was asked for holds, 1 when a check failed, 2 for bad usage.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .commands import ASKED, COMMANDS
from .errors import CheckFailed, UserError, say, told

__all__ = ["main"]


def _split(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The command that is used, the first word that is no option, and what stands behind it.

    Raises UserError for a command that there is not.
    """
    place = next((place for place, word in enumerate(words) if not word.startswith("-")), None)
    if place is None:
        return None, ()
    name, behind = words[place], words[place + 1 :]
    if name not in COMMANDS:
        raise UserError(f"the command must be one of {', '.join(COMMANDS)}, not {name!r}")
    if COMMANDS[name].group and not (behind and behind[0].startswith("-")):
        from .registry import commands

        known = commands(name)
        if not behind or behind[0] not in known:
            found = repr(behind[0]) if behind else "nothing"
            raise UserError(f"{name} must be given one of {', '.join(known)}, not {found}")
    return name, behind


def _asked() -> tuple[str | None, Sequence[str]]:
    """The same of what a shell asks about, which need not be right yet."""
    from .choices import asked_words

    words = asked_words()
    return (words[0], words[1:]) if words and words[0] in COMMANDS else (None, ())


def _run(words: Sequence[str]) -> int:
    asked = ASKED in os.environ
    used, behind = _asked() if asked else _split(words)
    import typer

    from .commands.application import application

    click_error: type[Exception] = next(
        kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
    )
    app = application(used, behind, completed=asked)
    try:
        status = app(list(words), prog_name="tilewright", standalone_mode=False)
    except click_error as error:
        message = getattr(error, "format_message", error.__str__)()
        context = getattr(error, "ctx", None)
        if message:  # none if the help was shown for want of arguments
            usage = f" (see `{context.command_path} --help`)" if context else ""
            say(f"{message.rstrip('.')}{usage}")
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
        return _run(sys.argv[1:] if arguments is None else arguments)
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
