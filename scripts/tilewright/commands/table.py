"""``tilewright table``: a table of results, with the papers' numbers beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from ..choices import a_table, a_unit
from ..errors import UserError, user_errors
from ..hw.spec.host.activity import activity
from ..hw.spec.host.words import unknown
from ..reports import console_of_reports, write_json
from .options import JsonOption, TargetOption, check_output

__all__ = ["measured_table", "other_outputs", "table"]


def table(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of a table, as below.", autocompletion=a_table),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILES", help="Inputs to measure (tables that accept files)."),
    ] = None,
    target: TargetOption = "cmos",
    full: Annotated[
        bool,
        typer.Option("--full", help="Measure at the paper's size (tables with a smaller default)."),
    ] = False,
    json_file: JsonOption = None,
    scale: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION", help="Size of generated inputs, 1 as in the papers (some tables)."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Measure only rows whose name contains TEXT (some tables); of clocks only a "
            "library, repeatable.",
        ),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="UNIT",
            help="Measure only this unit (clocks); repeatable.",
            autocompletion=a_unit,
        ),
    ] = None,
    small: Annotated[
        bool,
        typer.Option("--small", help="Measure small configurations of the units (clocks)."),
    ] = False,
    kept: Annotated[
        bool,
        typer.Option("--kept", help="Measure nothing, and print what the cache has (clocks)."),
    ] = False,
    liberty_path: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the known libraries (clocks), by default that of TILEWRIGHT_LIBERTY.",
        ),
    ] = None,
    period: Annotated[
        float | None,
        typer.Option(
            metavar="NS",
            help="Measure the smallest designs that meet this clock period (m3xu-area, "
            "simd2-area).",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter (some tables); repeatable."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Also write the table as CSV."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.svg|png|pdf", help="Also plot the table."),
    ] = None,
) -> None:
    """Measure a table of results, with the papers' numbers beside them."""
    from ..registry import tables

    known = tables()
    if name not in known:
        raise UserError(unknown("table", name, known, "tilewright table"))
    if json_file is not None:
        check_output(json_file, ".json")
    write_others = other_outputs(csv, plot)
    if period is not None:
        from .synth import clock_period

        period = clock_period(period, None)
    given: dict[str, object] = {"files": files, "full": full or None, "scale": scale}
    given |= {"only": ",".join(only) if only else None, "unit": unit, "small": small or None}
    given |= {
        "kept": kept or None,
        "liberty_path": liberty_path,
        "period": period,
        "settings": settings,
    }
    measured = measured_table(name, known[name].function, target, given)
    measured.print(console_of_reports())
    write_others(measured)
    if json_file is not None:
        write_json(json_file, measured.to_json())


def other_outputs(csv: Path | None, plot: Path | None) -> Callable[[Any], None]:
    """Checks the files for a table's CSV and plot, and returns what writes them.

    Raises UserError for a file that cannot be written, and if Matplotlib is missing.
    """
    from ..hw.spec.host.outputs import write_whole
    from ..hw.spec.host.plots import PLOT_SUFFIXES, can_plot, write_plot

    if csv is not None:
        check_output(csv, ".csv")
    if plot is not None:
        check_output(plot, *PLOT_SUFFIXES)
        if not can_plot():
            raise UserError("--plot needs Matplotlib: pip install 'tilewright[apps]'")

    def write(measured: Any) -> None:
        from ..synth.tables import csv_of
        from ..tables.plot import bars, has_figures

        if csv is not None:
            text = csv_of(measured.parts)
            write_whole(csv, lambda file: file.write(text.encode()))
        if plot is not None:
            if measured.drawing is None and not has_figures(measured.parts):
                raise UserError("--plot: the table has no results to plot")
            draw = measured.drawing or partial(bars, parts=measured.parts)
            write_plot(plot, measured.table, draw)

    return write


def measured_table(
    name: str,
    function: str,
    target: str,
    given: dict[str, object],
    shared: Sequence[str] = ("target", "csv", "plot", "json"),
) -> Any:
    """Calls the table's function with the given options; ``shared`` are those of all tables.

    Raises UserError for an option that the table does not take, and for whatever is wrong.
    """
    from ..hw.spec.unit import named_object
    from ..synth.base.errors import ToolError

    measure = named_object(function)
    taken = signature(measure).parameters
    files = given["files"]
    if isinstance(files, list) and files and "files" not in taken:
        raise UserError(f"{name} takes no files, not {files[0]}")
    chosen = {option: value for option, value in given.items() if value not in (None, [])}
    if strange := [option for option in chosen if option not in taken]:
        known = [*shared, *(option for option in given if option in taken)]
        options = ", ".join(_option(option) for option in known if option != "files")
        raise UserError(f"{name} takes no {_option(strange[0])}; its options are {options}")
    measure = partial(measure, **chosen)
    with user_errors(ValueError, OSError, ToolError), activity(name) as shown:
        return measure(target, progress=shown.about)


def _option(name: str) -> str:
    return f"--{name.replace('settings', 'set').replace('_', '-')}"
