"""What users may say about GTA, and the checks on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import UserError, user_errors
from ...hw.spec.gta import FORMATS_OF_GTA, GTA, GtaConfig, is_float
from ...settings import read_config
from ...sim.rtl.toolchain import ToolMissing, require_tools
from ..common.files import check_output
from ..common.options import PANEL, ConfigOption, JsonOption, SettingsOption

if TYPE_CHECKING:
    from ...sim.gta.schedule.schedule import Schedule

__all__ = [
    "BACKENDS",
    "FLOATS",
    "DeviceOptions",
    "FlowOptions",
    "GtaChoice",
    "GtaOptions",
    "choose_gta",
    "refuse_flow",
]

BACKENDS = ("rtl", "cycles", "model")
FLOATS = tuple(name for name in FORMATS_OF_GTA if is_float(name))
"""Formats of an application that takes no integers."""

_DATAFLOWS = ("auto", "ws", "is", "os", "simd")
_OF_FLOATS = ("auto", "os", "simd")


@dataclass(frozen=True, kw_only=True)
class FlowOptions:
    """How products are laid out on GTA."""

    dataflow: Annotated[
        str | None,
        typer.Option(
            help="Of GTA: ws, is, os (weights, inputs or outputs stay), simd (vectors), or auto, "
            "the default: the schedule of least cycles and accesses.",
            rich_help_panel=PANEL,
        ),
    ] = None
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="RxC",
            help="Of GTA: rows and columns that its lanes make up; default: as the dataflow.",
            rich_help_panel=PANEL,
        ),
    ] = None
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Of GTA: print the schedules of the largest product, the chosen one first.",
            rich_help_panel=PANEL,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """The accelerator that computes with vectors, and where the report goes."""

    config_file: ConfigOption = None
    settings: SettingsOption = None
    backend: Annotated[
        str,
        typer.Option(
            help="rtl: simulate the Verilog and check it against the model; model: that of results "
            "alone.",
            rich_help_panel=PANEL,
        ),
    ] = "rtl"
    json_file: JsonOption = None


@dataclass(frozen=True, kw_only=True)
class GtaOptions(FlowOptions):
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
    backend: one of ``BACKENDS``
    dataflow: one that schedules must have; None: any
    layout: rows and columns of lanes that schedules must have; None: any
    explain: whether the schedules of the largest product are printed
    """

    config: GtaConfig
    format: str
    backend: str
    dataflow: str | None
    layout: tuple[int, int] | None
    explain: bool
    json_file: Path | None

    def allows(self, schedule: Schedule) -> bool:
        """Whether the user has left a schedule."""
        return (self.dataflow in (None, schedule.dataflow)) and (
            self.layout in (None, (schedule.rows, schedule.cols))
        )


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
    if options.backend not in BACKENDS:
        raise UserError(f"backend must be one of {', '.join(BACKENDS)}, not {options.backend!r}")
    if format not in allowed:
        raise UserError(f"mode must be one of {', '.join(allowed)}, not {format!r}")
    config: Any = read_config(GTA, options.config_file, options.settings or ())
    _check_format(config, format)
    dataflow = _dataflow(options.dataflow, format)
    layout = _layout(options.layout, config.lanes, dataflow)
    if options.explain and options.backend != "cycles":
        raise UserError(f"--explain must come with backend cycles, not with {options.backend}")
    if options.json_file:
        check_output(options.json_file, (".json",))
    if options.backend == "rtl":
        with user_errors(ToolMissing):
            require_tools()
    return GtaChoice(
        config=config,
        format=format,
        backend=options.backend,
        dataflow=dataflow,
        layout=layout,
        explain=options.explain,
        json_file=options.json_file,
    )


def refuse_flow(flow: FlowOptions, unit: str) -> None:
    """Refuse options that are of GTA for another unit. Raises UserError."""
    for name, given in (("dataflow", flow.dataflow), ("layout", flow.layout)):
        if given is not None:
            raise UserError(f"--{name} must come with --unit gta, not {unit}, as {given!r}")
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


def _dataflow(given: str | None, format: str) -> str | None:
    """The one that is asked for."""
    known, whose = (_OF_FLOATS, f" in {format}") if is_float(format) else (_DATAFLOWS, "")
    if given is not None and given not in known:
        raise UserError(f"--dataflow must be one of {', '.join(known)}{whose}, not {given!r}")
    return None if given == "auto" else given


def _layout(given: str | None, lanes: int, dataflow: str | None) -> tuple[int, int] | None:
    if given is None:
        return None
    found = re.fullmatch(r"([0-9]{1,3})x([0-9]{1,3})", given)
    layout = (int(found[1]), int(found[2])) if found else (0, 0)
    if layout[0] * layout[1] != lanes:
        allowed = ", ".join(f"{rows}x{lanes // rows}" for rows in _powers(lanes))
        raise UserError(f"--layout must be one of {allowed}, as there are {lanes} lanes, "
                        f"not {given!r}")  # fmt: skip
    if dataflow == "simd":
        raise UserError(f"--layout must come with ws, is or os, not with simd, as {given!r}")
    return layout


def _powers(lanes: int) -> list[int]:
    return [1 << power for power in range(lanes.bit_length())]
