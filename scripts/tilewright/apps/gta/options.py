"""What users may say about GTA, and the checks on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import UserError
from ...hw.spec.gta import FORMATS_OF_GTA, GTA, GtaConfig, is_float
from ...hw.spec.host.words import not_one_of
from ...settings import read_config
from ..common.files import check_output
from ..common.options import (
    PANEL,
    BackendOption,
    ConfigOption,
    JsonOption,
    SettingsOption,
    check_backend,
    check_report_and_tools,
)
from .schedule.asked import Asked, asked
from .schedule.file import SUFFIXES, read_schedule
from .schedule.options import ScheduleOptions

__all__ = [
    "FLOATS",
    "DeviceOptions",
    "FlowOptions",
    "GtaChoice",
    "GtaOptions",
    "choose_gta",
    "refuse_flow",
]

FLOATS = tuple(name for name in FORMATS_OF_GTA if is_float(name))
"""Formats of an application that takes no integers."""


@dataclass(frozen=True, kw_only=True)
class FlowOptions(ScheduleOptions):
    """What of products of matrices only GTA has."""

    sums: Annotated[
        str | None,
        typer.Option(
            help="Of GTA, of sums of integers: wrap, modulo their width, the default; saturate, "
            "clamped once at the end; long, of int32 and int64: all 128 bits, two words.",
            rich_help_panel=PANEL,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """The accelerator that computes with vectors, and where the report goes."""

    config_file: ConfigOption = None
    settings: SettingsOption = None
    backend: BackendOption = "rtl"
    json_file: JsonOption = None


@dataclass(frozen=True, kw_only=True)
class GtaOptions(ScheduleOptions):
    """The accelerator a computation runs on, how, and where the report goes."""

    config_file: ConfigOption = None
    settings: SettingsOption = None
    backend: Annotated[
        str,
        typer.Option(
            help="rtl: simulate the Verilog and check it against the model; cycles: the models of "
            "results and of cycles, the default; model: that of results alone.",
            rich_help_panel=PANEL,
        ),
    ] = "cycles"
    json_file: JsonOption = None


@dataclass(frozen=True, kw_only=True)
class GtaChoice:
    """The accelerator, checked.

    Parameters
    ----------
    config: of the accelerator
    format: of the operands
    backend: rtl, cycles or model
    asked: what schedules must have
    explain: whether the schedules of the largest product are printed
    save_schedule: where its schedule is written
    """

    config: GtaConfig
    format: str
    backend: str
    asked: Asked = field(default_factory=Asked)
    explain: bool = False
    save_schedule: Path | None = None
    json_file: Path | None = None


def choose_gta(
    options: GtaOptions, format: str, allowed: Sequence[str] = FORMATS_OF_GTA
) -> GtaChoice:
    """Check what the command line says about the accelerator.

    Parameters
    ----------
    format: of the operands, as the user or the application has it
    allowed: formats that the application takes

    Raises UserError for what cannot be run.
    """
    check_backend(options.backend)
    if format not in allowed:
        raise UserError(not_one_of("mode", allowed, format))
    config: Any = read_config(GTA, options.config_file, options.settings or ())
    _check_format(config, format)
    chosen = _asked(options, config, format)
    if options.explain and options.backend == "model":
        raise UserError("--explain must come with backend rtl or cycles, not with model")
    if options.explain and chosen.dataflow == "simd" and options.backend == "rtl":
        raise UserError("--explain must come with ws, is, os or auto on the RTL, not with simd")
    if options.save_schedule:
        if options.backend == "model":
            raise UserError("--save-schedule must come with backend rtl or cycles, not with model")
        check_output(options.save_schedule, SUFFIXES)
    check_report_and_tools(options.json_file, options.backend)
    return GtaChoice(
        config=config,
        format=format,
        backend=options.backend,
        asked=chosen,
        explain=options.explain,
        save_schedule=options.save_schedule,
        json_file=options.json_file,
    )


def refuse_flow(flow: FlowOptions, unit: str) -> None:
    """Refuse options that are of GTA for another unit. Raises UserError."""
    for name in ("dataflow", "layout", "segments", "schedule", "save_schedule", "sums"):
        given = getattr(flow, name)
        if given is not None:
            text = str(given) if isinstance(given, Path) else given
            option = f"--{name.replace('_', '-')}"
            raise UserError(f"{option} must come with --unit gta, not {unit}, as {text!r}")
    if flow.explain:
        raise UserError(f"--explain must come with --unit gta, not {unit}")


def _check_format(config: GtaConfig, format: str) -> None:
    if format not in config.formats:
        built_with = ", ".join(config.formats)
        raise UserError(
            f"mode must be one that gta is built with ({built_with}), not {format!r}: see `formats`"
        )
    if is_float(format) and not config.float_adders:
        raise UserError(f"`float_adders` must be at least 8 for {format}, not 0")


def _asked(options: GtaOptions, config: GtaConfig, format: str) -> Asked:
    """What schedules must have, by options or a file."""
    given = {name: getattr(options, name) for name in ("dataflow", "layout", "segments")}
    said = {name: value for name, value in given.items() if value is not None}
    file = options.schedule
    if file is None:
        return asked(said, lambda key: f"--{key}", config, format)
    for name, value in said.items():
        raise UserError(f"--{name} must not come with --schedule, which says it; it is {value!r}")
    return asked(read_schedule(file), lambda key: f"{file}: {key}", config, format)
