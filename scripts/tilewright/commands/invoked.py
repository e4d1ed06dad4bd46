"""What is the same for all commands while they run: their report, and files that must differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..hw.spec.host import outputs
from ..reports import reported
from ..signs_of_life import shown_on_terminal
from .help_option import HelpedCommand

__all__ = ["OUTPUTS", "command_class"]

OUTPUTS = (
    "--output", "--json", "--waves", "--svg", "--csv", "--picture", "--pictures", "--tree",
    "--distances", "--header", "--rdl", "--ipxact", "--core", "--filelist", "--package",
    "--template", "--save-schedule", "--junit", "--cocotb",
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
            with report, shown_on_terminal():
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
