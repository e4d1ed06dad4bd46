"""How users say which schedules products take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...common.options import PANEL

__all__ = ["ScheduleOptions"]


@dataclass(frozen=True, kw_only=True)
class ScheduleOptions:
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
            help="Of GTA: rows and columns of its array of lanes, of a segment if segments run "
            "at the same time; default: as the dataflow.",
            rich_help_panel=PANEL,
        ),
    ] = None
    segments: Annotated[
        int | None,
        typer.Option(
            help="Of GTA: parts of K; of integers at the same time, on as many parts of the lanes. "
            "Default: as the dataflow.",
            rich_help_panel=PANEL,
        ),
    ] = None
    schedule: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Of GTA: dataflow, layout, segments and direction, .toml or .json, in place of "
            "the options.",
            rich_help_panel=PANEL,
        ),
    ] = None
    save_schedule: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Of GTA: write the schedule of the largest product, .toml or .json.",
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
