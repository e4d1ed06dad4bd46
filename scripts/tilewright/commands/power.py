"""``tilewright power``: power of a unit's netlist, by toggles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UserError, user_errors
from ..numbers_given import whole
from ..reports import console_of_reports, write_json
from .options import (
    ConfigOption,
    DontUseOption,
    JsonOption,
    LibertyPathOption,
    SetOption,
    TargetOption,
    UnitArgument,
    check_output,
)
from .synth import clock_period

if TYPE_CHECKING:
    from ..hw.spec.config import Config
    from ..registry import Entry

__all__ = ["power"]


def power(
    unit: UnitArgument,
    config: ConfigOption = None,
    set_: SetOption = None,
    target: TargetOption = "asap7",
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="MODE",
            help="Operation of a matrix unit: random operands, back to back (its default product).",
        ),
    ] = None,
    activity: Annotated[
        Path | None,
        typer.Option(
            "--activity",
            metavar="FILE.vcd",
            help="In place of random operations: waves of the unit with all levels of modules.",
        ),
    ] = None,
    skip: Annotated[
        int,
        typer.Option(
            parser=whole("--skip", 0), metavar="N", help="Cycles of --activity to leave out first."
        ),
    ] = 0,
    cycles: Annotated[
        int,
        typer.Option(
            parser=whole("--cycles", 1, 10**6), metavar="N", help="Cycles to measure, at most."
        ),
    ] = 1000,
    seed: Annotated[
        int,
        typer.Option(parser=whole("--seed", 0), metavar="N", help="Seed of the random operands."),
    ] = 1,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="NS", help="Clock period, in place of the slowest path of the netlist."
        ),
    ] = None,
    frequency: Annotated[
        str | None,
        typer.Option(metavar="MHZ", help="Clock frequency, in place of --period."),
    ] = None,
    effort: Annotated[
        str,
        typer.Option(
            metavar="EFFORT",
            help="As of synth: speed, or area.",
            autocompletion=lambda: ["area", "speed"],
        ),
    ] = "speed",
    wires: Annotated[
        str,
        typer.Option(
            metavar="WIRES",
            help="As of synth: none, or wireload.",
            autocompletion=lambda: ["none", "wireload"],
        ),
    ] = "none",
    delays: Annotated[
        str,
        typer.Option(
            metavar="DELAYS",
            help="library: glitches by its delays; none: no glitches, faster.",
            autocompletion=lambda: ["library", "none"],
        ),
    ] = "library",
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Also let OpenSTA (`sta`) measure; exit status 1 if it differs by more than 1 % "
            "under its assumptions.",
        ),
    ] = False,
    dont_use: DontUseOption = None,
    liberty_path: LibertyPathOption = None,
    json_file: JsonOption = None,
) -> None:
    """Measure the power of a unit in standard cells, by the toggles of all nets."""
    from ..settings import choose_entry, read_config

    entry = choose_entry(unit)
    values = read_config(entry.unit, config, set_ or ())
    clock = clock_period(period, frequency)
    if json_file is not None:
        check_output(json_file, ".json")
    if activity is None and not entry.matrix_unit:
        raise UserError(
            f"{unit} is no matrix unit, which random operations are of: give its waves by "
            "--activity"
        )
    if activity is not None and mode is not None:
        raise UserError("--mode and --activity exclude each other")
    if activity is None and skip:
        raise UserError("--skip is of --activity")
    stimuli = Stimuli(activity=activity, skip=skip, mode=mode, seed=seed, cycles=cycles)
    report = measured(
        entry, values, stimuli, delays=delays, check=check,
        target=target, period=clock, effort=effort, wires=wires, dont_use=dont_use or (),
        liberty_path=liberty_path,
    )  # fmt: skip
    report.print(console_of_reports())
    if json_file is not None:
        write_json(json_file, report.to_json())
    if not report.passed:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class Stimuli:
    """What the unit does while its power is measured.

    Members
    -------
    activity: a record; None for random operations
    skip: cycles of the record to leave out first
    mode: of the random operations; None for the default product
    seed: of their operands
    cycles: to measure, at most
    """

    activity: Path | None
    skip: int
    mode: str | None
    seed: int
    cycles: int


def measured(
    entry: Entry, values: Config, stimuli: Stimuli, *, delays: str, check: bool, **options: Any
) -> Any:
    """The report of a unit. ``delays``, ``check``: as of the command; ``options``: of
    ``PowerRequest``."""
    from ..hw.emit.unit import emit
    from ..hw.spec.host.words import not_one_of
    from ..random_operations import random_operations, record_operations
    from ..sim.rtl.build import BuildError
    from ..sim.rtl.toolchain import ToolMissing, require_tools
    from ..synth.base.errors import ToolError
    from ..synth.power.flow import DELAYS, PowerRequest, prepare
    from ..synth.power.recording import check_vcd
    from ..synth.timing.opensta import opensta_available

    how: dict[str, Any] = {"delays": delays, "cross_check": check}
    with user_errors(ValueError, OSError, ToolError, BuildError, ToolMissing):
        if check and not opensta_available():
            raise UserError("--check needs OpenSTA: the command `sta` is not installed")
        if delays not in DELAYS:
            raise UserError(not_one_of("--delays", DELAYS, delays))
        mode = stimuli.mode or ""
        if stimuli.activity is None:
            mode = mode or values.default_product  # type: ignore[attr-defined]
            random_operations(values, mode, 1, stimuli.seed)  # type: ignore[arg-type]
        request = PowerRequest(**options)
        request.library()
        if stimuli.activity is None:
            require_tools()
        emitted = emit(entry.unit, values)
        top, clock = emitted.sidecar["module"], emitted.sidecar["clock"]
        if stimuli.activity is not None:
            check_vcd(stimuli.activity, top, clock)
        prepared = prepare(emitted.verilog, top, request, emitted.sidecar["config"])
        if stimuli.activity is not None:
            record = prepared.read(stimuli.activity, clock)
            record = record.window(stimuli.skip, stimuli.cycles + 1)
            return prepared.measure(record, str(stimuli.activity), **how)
        with TemporaryDirectory(prefix="tilewright-power-") as work:
            path = Path(work) / "record.vcd"
            run = record_operations(
                emitted, values, mode, stimuli.cycles, stimuli.seed, prepared.signals(), path  # type: ignore[arg-type]
            )  # fmt: skip
            record = prepared.read(path, clock).window(run.first, stimuli.cycles + 1)
        count = run.per_cycle * stimuli.cycles
        return prepared.measure(record, f"random operations, {mode}", count, **how)
