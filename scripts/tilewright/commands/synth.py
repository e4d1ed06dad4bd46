"""``tilewright synth``: a unit's area and speed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UserError, user_errors
from ..numbers_given import real
from ..report_table import console_of_reports
from ..reports import write_json
from .options import (
    ConfigOption,
    JsonOption,
    SetOption,
    TargetOption,
    UnitArgument,
    check_output,
)

__all__ = ["clock_period", "synth"]

_LEAST, _MOST = 0.001, 1_000_000


def clock_period(
    period: object, frequency: object, names: tuple[str, str] = ("--period", "--frequency")
) -> float | None:
    """The period in ns of the target clock, given as ``period`` or as ``frequency`` in MHz. Raises
    UserError if both are given, and for a number that is out of range."""
    if period is not None and frequency is not None:
        raise UserError(f"{names[0]} and {names[1]} exclude each other: both are the clock")
    if period is not None:
        return real(names[0], _LEAST, _MOST)(str(period))
    return None if frequency is None else 1000 / real(names[1], _LEAST, _MOST)(str(frequency))


def synth(
    unit: UnitArgument,
    config: ConfigOption = None,
    set_: SetOption = None,
    target: TargetOption = "cmos",
    period: Annotated[
        str | None,
        typer.Option(
            metavar="NS",
            help="Target clock period; exit status 1 if not met.",
        ),
    ] = None,
    frequency: Annotated[
        str | None,
        typer.Option(metavar="MHZ", help="Target clock frequency, in place of --period."),
    ] = None,
    dont_use: Annotated[
        list[str] | None,
        typer.Option(
            "--dont-use", metavar="GLOB", help="Cells of the library to avoid; repeatable."
        ),
    ] = None,
    liberty_path: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the known libraries, by default that of TILEWRIGHT_LIBERTY.",
        ),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Measure a unit's area and speed, and show its critical path."""
    from ..settings import choose_unit, read_config

    chosen = choose_unit(unit)
    values = read_config(chosen, config, set_ or ())
    clock = clock_period(period, frequency)
    if json_file is not None:
        check_output(json_file, ".json")
    from ..synth.base.errors import ToolError
    from ..synth.flow import synthesize

    with user_errors(ValueError, OSError, ToolError):
        report = synthesize(
            chosen,
            values,
            target,
            period=clock,
            dont_use=dont_use or (),
            liberty_path=liberty_path,
        )
    report.print(console_of_reports())
    if json_file is not None:
        write_json(json_file, report.to_json())
    if not report.passed:
        raise typer.Exit(1)
