"""``tilewright table``: a table of the papers, theirs beside ours."""

from __future__ import annotations

from functools import partial
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from ..choices import a_table
from ..errors import UserError, user_errors
from ..hw.spec.host.activity import activity
from ..report_table import console_of_reports
from ..reports import write_json
from .options import JsonOption, TargetOption, check_output

__all__ = ["measured_table", "table"]


def table(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A table of the list.", autocompletion=a_table)
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILES", help="What to measure, of tables that take files."),
    ] = None,
    target: TargetOption = "cmos",
    full: Annotated[
        bool, typer.Option("--full", help="The paper's size, of tables that measure a smaller one.")
    ] = False,
    json_file: JsonOption = None,
    scale: Annotated[
        float | None,
        typer.Option(metavar="PART", help="Of the papers' sizes, of tables that have such: 0.01."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Measure what is named so, of tables of many inputs."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of what is measured."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write it as CSV, of tables that are written so.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Draw it, of tables that are drawn.")
    ] = None,
) -> None:
    """Measure a table of the papers: theirs beside ours."""
    from ..registry import tables

    known = tables()
    if name not in known:
        raise UserError(f"table must be one of {', '.join(known)}, not {name!r}")
    if json_file is not None:
        check_output(json_file, ".json")
    if csv is not None:
        check_output(csv, ".csv")
    if svg is not None:
        check_output(svg, ".svg")
    given: dict[str, object] = {"files": files, "full": full or None, "scale": scale, "only": only}
    given |= {"settings": settings, "csv": csv, "svg": svg}
    measured = measured_table(name, known[name].function, target, given)
    measured.print(console_of_reports())
    if json_file is not None:
        write_json(json_file, measured.to_json())


def measured_table(name: str, function: str, target: str, given: dict[str, object]) -> Any:
    """What the table's function makes of the options that were given. Raises UserError for one that
    it does not take, and for whatever is wrong."""
    from ..hw.spec.unit import named_object
    from ..synth.base.errors import ToolError

    measure = named_object(function)
    taken = signature(measure).parameters
    files = given["files"]
    if isinstance(files, list) and files and "files" not in taken:
        raise UserError(f"{name} takes no files, not {files[0]}")
    chosen = {option: value for option, value in given.items() if value not in (None, [])}
    if unknown := [option for option in chosen if option not in taken]:
        raise UserError(f"{name} takes no --{unknown[0].replace('settings', 'set')}")
    measure = partial(measure, **chosen)
    with user_errors(ValueError, OSError, ToolError), activity(name) as shown:
        return measure(target, progress=shown.about)
