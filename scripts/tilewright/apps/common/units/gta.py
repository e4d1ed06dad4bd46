"""GTA: how users say which schedules products take, the checked choice, and its driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....errors import UserError
from ....hw.spec.gta import GTA, GtaConfig
from ....hw.spec.unit import Unit
from ..options import PANEL, Choice

if TYPE_CHECKING:
    from ....sim.gta.array_job import Schedule
    from ....sim.gta.driver import GtaDriver
    from ..session import Session

__all__ = ["Asked", "FlowOptions", "GtaChoice", "ScheduleOptions", "gta_session", "refuse_flow"]


@dataclass(frozen=True, kw_only=True)
class ScheduleOptions:
    """Options for the schedules of products on GTA."""

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
            help="Of GTA: parts of K; with integers at the same time, each on a part of the lanes. "
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


@dataclass(frozen=True, kw_only=True)
class FlowOptions(ScheduleOptions):
    """Options for products of matrices that only GTA has."""

    sums: Annotated[
        str | None,
        typer.Option(
            help="Of GTA, of sums of integers: wrap, modulo their width, the default; saturate, "
            "clamped once at the end; long, of int32 and int64: all 128 bits, two words.",
            rich_help_panel=PANEL,
        ),
    ] = None


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


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Properties that schedules must have; None: any value.

    Parameters
    ----------
    dataflow: ws, is, os or simd
    layout: rows and columns of lanes of a region
    segments: parts of K
    lateral: direction
    filled: whether what is left over comes as a part of its own
    along: of simd, whether elements lie along D
    """

    dataflow: str | None = None
    layout: tuple[int, int] | None = None
    segments: int | None = None
    lateral: bool | None = None
    filled: bool | None = None
    along: bool | None = None

    def allows(self, schedule: Schedule) -> bool:
        """Tells whether the user's choices allow a schedule."""
        return (
            self.dataflow in (None, schedule.dataflow)
            and self.layout in (None, (schedule.rows, schedule.cols))
            and self.segments in (None, schedule.segments)
            and self.lateral in (None, schedule.lateral)
            and self.filled in (None, schedule.filled)
            and self.along in (None, schedule.along)
            and not (self.layout and schedule.along)
        )


@dataclass(frozen=True, kw_only=True)
class GtaChoice(Choice[GtaConfig]):
    """The accelerator, checked.

    Parameters
    ----------
    format: of the operands
    asked: what schedules must have
    explain: whether the schedules of the largest product are printed
    save_schedule: where its schedule is written
    """

    unit: Unit = GTA
    format: str
    asked: Asked = field(default_factory=Asked)
    explain: bool = False
    save_schedule: Path | None = None


def gta_session(choice: GtaChoice) -> Session[GtaDriver]:
    """The accelerator of a choice behind its driver. With "cycles" results are none."""
    from ....sim.gta.driver import GtaDriver
    from ..session import Session, opened

    def make(memory_bytes: int) -> Any:
        if choice.backend != "cycles":
            return opened(choice, choice.backend, memory_bytes)
        # It loads a compiler.
        from ....sim.gta.timed import TimedGta

        return TimedGta(
            choice.config, memory_bytes, memory=choice.memory, gigahertz=choice.gigahertz,
            values=False,
        )  # fmt: skip

    return Session(choice, GtaDriver, about="gta: ", make=make)
