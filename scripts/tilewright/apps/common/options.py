"""Options that applications share: dataclasses whose fields become options of a command."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ...choices import a_matrix_unit, a_setting
from ...errors import UserError, user_errors
from ...hw.spec.host import inputs
from ...hw.spec.host.words import not_one_of
from ...sim.rtl.toolchain import ToolMissing, require_tools
from .files import check_output

__all__ = [
    "BACKENDS",
    "PANEL",
    "BackendOption",
    "ConfigOption",
    "JsonOption",
    "RunOptions",
    "SettingsOption",
    "check_backend",
    "check_report_and_tools",
    "expanded",
    "named_parameters",
]

PANEL = "Unit"
"""Of the help: what is said about the unit."""

BACKENDS = ("rtl", "cycles", "model")
"""Of an accelerator that has a model of cycles."""

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "-c", "--config", help="TOML file of parameters of the unit.", rich_help_panel=PANEL
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the unit; see `tilewright show UNIT`.",
        rich_help_panel=PANEL,
        autocompletion=a_setting,
    ),
]
BackendOption = Annotated[
    str,
    typer.Option(
        help="rtl: simulate the Verilog and check it against the model; cycles: the models of "
        "results and of cycles; model: that of results alone.",
        rich_help_panel=PANEL,
    ),
]
JsonOption = Annotated[
    Path | None,
    typer.Option(
        "--json", help="Write the report as JSON; with - to standard output, without the table."
    ),
]


def check_backend(backend: str) -> None:
    """Raise UserError for none of ``BACKENDS``."""
    if backend not in BACKENDS:
        raise UserError(not_one_of("backend", BACKENDS, backend))


def check_report_and_tools(json_file: Path | None, backend: str) -> None:
    """Raise UserError before anything is computed: for a report that could not be written, and if
    what the RTL is simulated with is not there."""
    if json_file:
        check_output(json_file, (".json",))
    if backend == "rtl":
        with user_errors(ToolMissing):
            require_tools()


def named_parameters(file: Path | None, settings: Sequence[str]) -> dict[str, str]:
    """Parameters that a TOML file or settings name, with their text; whether they are sound is
    looked at later. Raises UserError if the file cannot be read."""
    found: dict[str, str] = {}
    if file is not None:
        with user_errors(OSError):
            content = inputs.read_bytes(file)
        with suppress(tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
            found = {name: str(value) for name, value in tomllib.loads(content.decode()).items()}
    texts = (setting.partition("=") for setting in settings)
    return found | {name.strip(): value.strip() for name, _, value in texts}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The unit a computation runs on, how, and where the report goes."""

    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            help="Matrix unit; see `tilewright list`.",
            rich_help_panel=PANEL,
            autocompletion=a_matrix_unit,
        ),
    ] = "m3xu"
    config_file: ConfigOption = None
    settings: SettingsOption = None
    backend: Annotated[
        str,
        typer.Option(
            "--backend",
            help="rtl: simulate the Verilog and check it against the model; model: the model "
            "alone.",
            rich_help_panel=PANEL,
        ),
    ] = "rtl"
    waves: Annotated[
        Path | None,
        typer.Option(
            "--waves", help="Write the waves of a short run, .vcd or .fst.", rich_help_panel=PANEL
        ),
    ] = None
    json_file: JsonOption = None


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """A function that takes the fields of its dataclass parameters, one by one, by keyword.

    Typer makes options of what it sees in the signature; the function itself gets the dataclass.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    shown = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in groups:
            shown += _options(groups[parameter.name])
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            shown.append(parameter.replace(kind=kind, annotation=hints[parameter.name]))

    @wraps(function)
    def run(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{item.name: values.pop(item.name) for item in fields(kind)})
        function(**values)

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


def _options(kind: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            item.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if item.default is MISSING else item.default,
            annotation=hints[item.name],
        )
        for item in fields(kind)
    ]
