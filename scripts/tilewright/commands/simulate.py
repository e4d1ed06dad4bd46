"""``tilewright simulate``: a unit against its model."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..choices import SIMULATORS, a_simulator
from ..errors import UserError, user_errors
from ..hw.spec.host.words import not_one_of
from ..numbers_given import whole
from ..reports import compiled_rows, console_of_reports, write_json
from .options import ConfigOption, JsonOption, SetOption, UnitArgument, check_output

if TYPE_CHECKING:
    from ..hw.spec.config import Config
    from ..registry import Entry

__all__ = ["simulate", "simulated", "usual_count"]


def simulate(
    unit: UnitArgument,
    config: ConfigOption = None,
    set_: SetOption = None,
    sim: Annotated[
        str,
        typer.Option(
            "--sim", metavar="SIM", help="verilator or icarus.", autocompletion=a_simulator
        ),
    ] = "verilator",
    seed: Annotated[
        int,
        typer.Option(parser=whole("--seed", 0), metavar="N", help="Seed of the random stimuli."),
    ] = 1,
    count: Annotated[
        int | None,
        typer.Option(
            parser=whole("--count", 1, 10**6),
            metavar="N",
            help="Operations of a unit of streams, half of them back to back (1000); jobs of an "
            "accelerator (100).",
        ),
    ] = None,
    waves: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write waveforms, .vcd or .fst.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE.xml", help="Also write the report as JUnit XML.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Simulate a unit with random stimuli and check it against its model."""
    from ..settings import choose_entry, read_config

    entry = choose_entry(unit)
    values = read_config(entry.unit, config, set_ or ())
    if json_file is not None:
        check_output(json_file, ".json")
    if junit is not None:
        check_output(junit, ".xml")
    count, started = count or usual_count(entry), perf_counter()
    report = simulated(entry, values, sim=sim, seed=seed, count=count, waves=waves)
    terminal = console_of_reports()
    report.print(terminal)
    for label, text in compiled_rows():
        terminal.print(f"{label}: {text}")
    if json_file is not None:
        write_json(json_file, {**report.as_json(), "config": values.resolved()})
    if junit is not None:
        from ..reports import write_junit

        seconds = perf_counter() - started
        write_junit(junit, report, values.resolved(), count=count, seconds=seconds)
    if not report.passed:
        raise typer.Exit(1)


def usual_count(entry: Entry) -> int:
    """The default count: operations of a unit of streams, jobs of an accelerator."""
    return 1000 if entry.unit.jobs is None else 100


def simulated(
    entry: Entry, values: Config, *, sim: str, seed: int, count: int, waves: Path | None
) -> Any:
    """The report on a unit's simulation. Raises UserError for a simulator that the unit has not,
    waves that cannot be written, and what is not installed."""
    unit = entry.unit.name
    if sim not in SIMULATORS:
        raise UserError(not_one_of("--sim", SIMULATORS, sim))
    if sim not in entry.simulate:
        raise UserError(f"--sim must be {' or '.join(entry.simulate)} for {unit}, not {sim!r}")
    if waves is not None:
        from ..wave_file import check_wave_file

        check_wave_file(waves)
    from ..sim.rtl import toolchain

    with user_errors(toolchain.ToolMissing):
        if sim == "icarus":
            toolchain.find_icarus()
        else:
            toolchain.require_tools()
    from ..hw.spec.unit import named_object

    try:
        run = named_object(entry.simulate[sim])
    except ModuleNotFoundError as error:
        raise UserError(
            f"simulate needs the package {error.name!r}: pip install 'tilewright[simulate]'"
        ) from None
    from ..sim.rtl.build import BuildError

    with user_errors(toolchain.ToolMissing, BuildError, ValueError, about=unit):
        return run(entry.unit, values, seed=seed, count=count, waves=waves)
