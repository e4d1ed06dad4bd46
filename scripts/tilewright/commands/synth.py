"""``tilewright synth``: a unit's area and speed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..choices import a_unit
from ..errors import UserError, user_errors
from ..numbers_given import real
from ..reports import console_of_reports, write_json
from .options import (
    ConfigOption,
    DontUseOption,
    JsonOption,
    LibertyPathOption,
    SetOption,
    TargetOption,
    check_output,
)

__all__ = ["cell_options", "clock_period", "drawn_curve", "synth"]

GATE_ARRAYS = ("ecp5", "ice40")
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


def cell_options(
    target: str, effort: str | None, wires: str | None, curve: Path | None, *, check: bool
) -> dict[str, Any]:
    """Options of ``synthesize`` that are of cell libraries: those given, and their defaults. Raises
    UserError for another target, and for a curve that could not be written."""
    options = {"effort": effort, "wires": wires, "curve": curve, "check": check or None}
    given = [f"--{name}" for name, value in options.items() if value is not None]
    if target in GATE_ARRAYS:
        if given:
            raise UserError(f"{given[0]} is of cell libraries: not for --target {target}")
        return {}
    if curve is not None:
        from ..synth.curve import CURVE_SUFFIXES, require_picture

        if curve.suffix.lower() not in CURVE_SUFFIXES:
            raise UserError(f"{curve}: must end in .svg, .png or .csv, not {curve.suffix!r}")
        check_output(curve)
        with user_errors(ValueError):
            require_picture(curve)
    return {
        "effort": effort or "speed",
        "wires": wires or "none",
        "curve": curve is not None,
        "cross_check": check,
    }


def drawn_curve(path: Path, report: Any) -> None:
    """Write the curve of a report."""
    from ..synth.curve import write_curve

    title = f"{report.unit} in {report.library}"
    write_curve(path, title, report.curve, report.area_unit)


def _measured(
    unit: str | None,
    rtl: list[Path],
    top: str | None,
    config: Path | None,
    settings: list[str],
    target: str,
    **options: Any,
) -> Any:
    """The report of a unit, or of files of Verilog."""
    from ..settings import choose_unit, read_config

    if not rtl:
        if top is not None:
            raise UserError("--top is of --rtl: a unit of the catalogue knows its top module")
        if unit is None:
            raise UserError("a UNIT is missing (`tilewright list`), or --rtl with --top")
        chosen = choose_unit(unit)
        values = read_config(chosen, config, settings)
        from ..synth.base.errors import ToolError
        from ..synth.flow import synthesize

        with user_errors(ValueError, OSError, ToolError):
            return synthesize(chosen, values, target, **options)
    if unit is not None:
        raise UserError(f"UNIT {unit!r} and --rtl exclude each other")
    if config is not None:
        raise UserError("--config is of units: give parameters of --top by --set")
    if top is None:
        raise UserError("--rtl needs --top NAME, its top module")
    from ..synth.base.errors import ToolError
    from ..synth.flow import synthesize_verilog
    from ..synth.sources import read_sources

    with user_errors(ValueError, OSError, ToolError):
        verilog = read_sources(rtl, top, settings)
        given = dict(one.split("=", 1) for one in settings)
        return synthesize_verilog(verilog, top, target, config=given, **options)


def synth(
    unit: Annotated[
        str | None,
        typer.Argument(
            metavar="[UNIT]",
            help="Name of a unit; see `tilewright list`. Not with --rtl.",
            autocompletion=a_unit,
            show_default=False,
        ),
    ] = None,
    rtl: Annotated[
        list[Path] | None,
        typer.Option(
            "--rtl",
            metavar="PATH",
            help="In place of a unit: a file of SystemVerilog, or a folder of them; repeatable.",
        ),
    ] = None,
    top: Annotated[str | None, typer.Option(metavar="NAME", help="Top module of --rtl.")] = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    target: TargetOption = "cmos",
    period: Annotated[
        str | None,
        typer.Option(
            metavar="NS",
            help="Target clock period: find the smallest area that meets it; exit status 1 if "
            "not met.",
        ),
    ] = None,
    frequency: Annotated[
        str | None,
        typer.Option(metavar="MHZ", help="Target clock frequency, in place of --period."),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option(
            metavar="EFFORT",
            help="speed: mappings and sizes for the fastest design, or the smallest one that meets "
            "--period (default of cell libraries); area: the smallest cells, at any clock.",
            autocompletion=lambda: ["area", "speed"],
        ),
    ] = None,
    wires: Annotated[
        str | None,
        typer.Option(
            metavar="WIRES",
            help="none (default), or wireload: by the library's wire-load model for a design of "
            "this area.",
            autocompletion=lambda: ["none", "wireload"],
        ),
    ] = None,
    curve: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the area over the period: .csv, or drawn as .svg or .png.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Also analyse the timing by OpenSTA (`sta`); exit status 1 if its critical path "
            "differs from ours by more than 0.1 %.",
        ),
    ] = False,
    dont_use: DontUseOption = None,
    liberty_path: LibertyPathOption = None,
    json_file: JsonOption = None,
) -> None:
    """Measure a unit's area and speed, and show its critical path."""
    clock = clock_period(period, frequency)
    if json_file is not None:
        check_output(json_file, ".json")
    options = cell_options(target, effort, wires, curve, check=check)
    report = _measured(
        unit,
        rtl or [],
        top,
        config,
        set_ or [],
        target,
        period=clock,
        dont_use=dont_use or (),
        liberty_path=liberty_path,
        **options,
    )
    if curve is not None:
        with user_errors(ValueError, OSError):
            drawn_curve(curve, report)
    report.print(console_of_reports())
    if json_file is not None:
        write_json(json_file, report.to_json())
    if not report.passed:
        raise typer.Exit(1)
