"""The Typer application around the command that is used."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from ..errors import UserError
from ..hw.spec.host import outputs
from ..hw.spec.host.activity import Activity, listening
from ..hw.spec.host.activity import Event as ActivityEvent
from ..reports import reported
from . import COMMANDS
from .help_option import HelpedCommand, HelpedGroup

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner


_PER_SECOND = 8
_SILENT_SECONDS = 1.0
"""An activity shorter than this is shown without its time."""
_FIRST_SECONDS = 20.0
_NEXT_SECONDS = 60.0


def in_words(one: Activity, now: float) -> str:
    """A line on an activity at a time: ``compiling the RTL, once: 2 of 7, 12 s``."""
    words = [f"{min(one.done, one.total):,} of {one.total:,}"] if one.total else []
    words += [one.detail] if one.detail else []
    seconds = now - one.began
    if seconds >= _SILENT_SECONDS:
        words.append(f"{seconds:.0f} s")
    return f"{one.what}: {', '.join(words)}" if words else one.what


class _Shown:
    """A listener that shows the innermost activity. Rich is there from the first one on."""

    def __init__(self) -> None:
        self._under_way: list[Activity] = []
        self._live: Live | None = None
        self._spinner: Spinner | None = None

    def __call__(self, event: ActivityEvent, one: Activity) -> None:
        if event == "begin":
            self._under_way.append(one)
            self._live = self._live or self._begin()
            self._live.refresh()
        elif event == "end":
            self._line()  # what is shown last
            self._under_way.remove(one)
            if not self._under_way:
                self.end()

    def _begin(self) -> Live:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._spinner = Spinner("dots")
        live = Live(
            console=Console(stderr=True),
            get_renderable=self._line,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        live.start()
        return live

    def _line(self) -> Spinner:
        from rich.text import Text

        assert self._spinner is not None
        for innermost in self._under_way[-1:]:
            words = in_words(innermost, time.perf_counter())
            self._spinner.update(text=Text(words, no_wrap=True, overflow="ellipsis"))
        return self._spinner

    def end(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()


class _Written:
    """A listener that writes a line on the innermost activity, first after ``_FIRST_SECONDS``, then
    every ``_NEXT_SECONDS``."""

    def __init__(self) -> None:
        self._under_way: list[Activity] = []
        self._ended = Event()
        self._writer: Thread | None = None

    def __call__(self, event: ActivityEvent, one: Activity) -> None:
        if event == "begin":
            self._under_way.append(one)
            if self._writer is None:
                self._writer = Thread(target=self._write, daemon=True)
                self._writer.start()
        elif event == "end":
            self._under_way.remove(one)

    def _write(self) -> None:
        seconds = _FIRST_SECONDS
        while not self._ended.wait(seconds):
            for innermost in self._under_way[-1:]:
                print(in_words(innermost, time.perf_counter()), file=sys.stderr, flush=True)
            seconds = _NEXT_SECONDS

    def end(self) -> None:
        self._ended.set()
        if self._writer is not None:
            self._writer.join()


def _listener() -> _Shown | _Written | None:
    """Returns the listener for standard error; None if it is closed, replaced, or to be quiet."""
    if sys.stderr is None or os.environ.get("TILEWRIGHT_PROGRESS") == "off":
        return None
    if sys.stderr.isatty():
        return _Shown()
    try:
        return _Written() if sys.stderr.fileno() == 2 else None
    except OSError:  # a stream without a descriptor: a Python program collects the text
        return None


@contextmanager
def progress() -> Iterator[None]:
    """Shows the activity in progress on standard error while the context is open: in place on a
    terminal, else by a line from time to time."""
    shown = _listener()
    if shown is None:
        yield
        return
    with listening(shown):
        try:
            yield
        finally:
            shown.end()


OUTPUTS = (
    "--output", "--json", "--waves", "--svg", "--plot", "--csv", "--picture", "--pictures",
    "--tree", "--distances", "--header", "--rdl", "--ipxact", "--core", "--filelist", "--package",
    "--template", "--save-schedule", "--junit", "--cocotb", "--curve",
    "--litex", "--trace",
)  # fmt: skip
"""Options whose files are written; of all others, and of arguments, they are read."""


def command_class(words: Sequence[str]) -> type[HelpedCommand]:
    """The class of the command of a command line."""

    class Invoked(HelpedCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            given = list(args)
            rest: list[str] = super().parse_args(ctx, args)
            if not ctx.resilient_parsing:
                texts, _, _ = self.make_parser(ctx).parse_args(args=given)
                _check_names(self.params, ctx.params, texts)
            return rest

        def invoke(self, ctx: Any) -> Any:
            _check_files(self.params, ctx.params)
            report = reported(words, ctx.params.get("json_file"), ctx.params.get("seed"))
            with report, progress():
                return super().invoke(ctx)

    return Invoked


def _check_names(
    parameters: Sequence[Any], values: Mapping[str, object], texts: Mapping[str, object]
) -> None:
    """Raise UserError for a blank path, of which ``Path`` makes the current directory."""
    for parameter in parameters:
        given = texts.get(parameter.name)
        each = given if isinstance(given, (list, tuple)) else [given]
        blank = [text for text in each if isinstance(text, str) and not text.strip()]
        if blank and any(True for _ in _paths(values.get(parameter.name))):
            option = parameter.param_type_name == "option"
            argument = parameter.metavar or parameter.name.upper()
            name = "/".join(parameter.opts) if option else argument
            raise UserError(f"{name} must be a path, not {blank[0]!r}")


def _check_files(parameters: Sequence[Any], values: Mapping[str, object]) -> None:
    """Raise UserError for a file that would be read and written."""
    read: list[Path] = []
    written: list[Path] = []
    for parameter in parameters:
        into = written if set(parameter.opts) & set(OUTPUTS) else read
        into += _paths(values.get(parameter.name))
    sources = {path.resolve(): path for path in read if path.is_file()}
    for path in written:
        if path.resolve() in sources and not outputs.is_stream(path):
            raise UserError(f"{path}: must not be a file that is read, which would be lost")


def _paths(value: object) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, (list, tuple)):
        yield from (one for one in value if isinstance(one, Path))


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tilewright {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_print_version,
                     is_eager=True),
    ] = False,
) -> None:  # fmt: skip
    """Generate tensor accelerators, simulate them and measure them."""


def not_used() -> None:
    """Stands for a command that is only listed."""
    raise AssertionError("a command that is run has been imported")


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def _with_list(kind: Any, name: str) -> type[HelpedCommand]:
    """A kind of command whose help ends with the list of what it accepts."""

    class WithList(kind):  # type: ignore[misc]
        def format_help(self, ctx: Any, formatter: Any) -> None:
            from .lists import print_list

            super().format_help(ctx, formatter)
            print_list(name)

    return WithList


def application(used: str | None, words: Sequence[str], *, completed: bool = False) -> typer.Typer:
    """All commands: the one that is used, with ``words`` behind its name, as it is; of the others
    what the help of the whole says.

    ``completed``: a shell has asked what may stand in a place, or how to ask.
    """
    app = typer.Typer(
        name="tilewright",
        cls=HelpedGroup,
        add_completion=completed,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    kind = command_class([used or "", *words])
    for name, command in COMMANDS.items():
        if name != used:
            app.command(name, help=command.summary)(not_used)
        elif command.group:
            group = _named(command.function)(words)
            for one in group.registered_commands:
                one.cls = kind
            app.add_typer(group, name=name, help=command.summary)
        else:
            shown = _with_list(kind, name) if command.listed else kind
            app.command(name, cls=shown)(_named(command.function))
    return app
