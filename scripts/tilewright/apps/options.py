"""Options that all applications share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["BackendOption", "ConfigOption", "JsonOption", "SetOption", "UnitOption", "WavesOption"]

_PANEL = "Unit"

UnitOption = Annotated[
    str, typer.Option("--unit", help="Matrix unit of the catalogue.", rich_help_panel=_PANEL)
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("-c", "--config", help="TOML file of parameters.", rich_help_panel=_PANEL),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter.", rich_help_panel=_PANEL),
]
BackendOption = Annotated[
    str,
    typer.Option(
        "--backend",
        help="rtl: simulate the Verilog and check it against the model; model: the model alone.",
        rich_help_panel=_PANEL,
    ),
]
WavesOption = Annotated[
    Path | None,
    typer.Option("--waves", help="VCD file to write (short runs).", rich_help_panel=_PANEL),
]
JsonOption = Annotated[Path | None, typer.Option("--json", help="Write the report as JSON.")]
