"""Reports: simulation and synthesis of units, tables of results."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..hw.spec.config import Config
from ..hw.spec.host.activity import noting
from ..hw.spec.host.words import UnknownName, unknown
from .results import Result, python_errors, result_of
from .units import configured, entry_named

__all__ = ["simulate", "synth", "table"]

FileName = str | os.PathLike[str]


def simulate(
    unit: str,
    config: Config | None = None,
    /,
    *,
    count: int | None = None,
    seed: int = 1,
    sim: str = "verilator",
    waves: FileName | None = None,
    **parameters: Any,
) -> Result:
    """Simulate a unit with random stimuli and check it against its model.

    Parameters
    ----------
    unit: its name
    config, parameters: as for :func:`tilewright.generate`
    count: operations of a unit of streams, half of them back to back, by default 1000; jobs of an
        accelerator, by default 100; up to 1,000,000
    seed: of the stimuli, from 0
    sim: "verilator" or "icarus"
    waves: file to write, .vcd or .fst

    Returns
    -------
    The result, ``passed`` if nothing differed.

    Raises
    ------
    ValueError and TypeError as :func:`tilewright.generate`, and for options; ``ToolMissing`` and
    ``BuildError`` of ``tilewright.sim.rtl`` without a simulator, and if it fails.
    """
    from ..commands.simulate import simulated, usual_count
    from ..numbers_given import whole

    entry = entry_named(unit)
    values = configured(entry, config, parameters)
    with python_errors({"--sim"}):
        report = simulated(
            entry,
            values,
            sim=sim,
            seed=whole("`seed`", 0)(str(seed)),
            count=whole("`count`", 1, 10**6)(str(usual_count(entry) if count is None else count)),
            waves=None if waves is None else Path(waves),
        )
    figures = {**report.as_json(), "config": values.resolved(), "seed": int(seed)}
    return result_of(f"simulate {unit}", report.print, figures, passed=report.passed)


def synth(
    unit: str,
    config: Config | None = None,
    /,
    *,
    target: str = "cmos",
    period: float | None = None,
    frequency: float | None = None,
    effort: str | None = None,
    wires: str | None = None,
    curve: FileName | None = None,
    check: bool = False,
    dont_use: Iterable[str] = (),
    liberty_path: FileName | None = None,
    **parameters: Any,
) -> Result:
    """Measure a unit's area and speed.

    Parameters
    ----------
    unit: its name
    config, parameters: as for :func:`tilewright.generate`
    target: "cmos", "liberty:FILE", a known library's name, "ecp5" or "ice40"
    effort: "speed", the default of cell libraries, or "area"
    wires: "none", the default, or "wireload"
    curve: file to write the area over the period to, .csv, .svg or .png
    check: analyse the timing by OpenSTA, too
    dont_use: patterns of cells of the library to avoid
    liberty_path: folder of the known libraries, by default that of ``TILEWRIGHT_LIBERTY``
    period, frequency: one of them, if wanted: the clock to meet, in ns or in MHz

    Returns
    -------
    The result, ``passed`` unless the clock is not met, or OpenSTA does not agree.

    Raises
    ------
    ValueError and TypeError as :func:`tilewright.generate`, for options, and for a unit that does
    not fit a device; ``ToolError`` of ``tilewright.synth.base.errors`` if a tool fails.
    """
    from ..commands.synth import cell_options, clock_period, drawn_curve
    from ..synth.flow import synthesize

    entry = entry_named(unit)
    values = configured(entry, config, parameters)
    with python_errors({"--effort", "--wires", "--curve", "--check", "--target"}):
        clock = clock_period(period, frequency, ("`period`", "`frequency`"))
        drawing = None if curve is None else Path(curve)
        options = cell_options(target, effort, wires, drawing, check=check)
    report = synthesize(
        entry.unit,
        values,
        target,
        period=clock,
        dont_use=[dont_use] if isinstance(dont_use, str) else list(dont_use),
        liberty_path=liberty_path,
        **options,
    )
    if drawing is not None:
        drawn_curve(drawing, report)
    return result_of(f"synth {unit}", report.print, report.to_json(), passed=report.passed)


def table(
    name: str,
    /,
    files: FileName | Iterable[FileName] = (),
    *,
    target: str = "cmos",
    full: bool = False,
    scale: float | None = None,
    only: str | Iterable[str] | None = None,
    unit: str | Iterable[str] = (),
    small: bool = False,
    kept: bool = False,
    liberty_path: FileName | None = None,
    csv: FileName | None = None,
    plot: FileName | None = None,
    **parameters: Any,
) -> Result:
    """Measure a table of results, with the papers' numbers beside them.

    Parameters
    ----------
    name: of the table, one of ``tilewright table``
    files: what to measure, of tables that take files
    target: as for :func:`tilewright.synth`
    full, scale, only: the paper's size, a part of it, what is named so: of tables that take these
    unit, small, kept: of "clocks": names of units, their small configurations, and only what the
        cache has; ``only`` names its libraries
    liberty_path: of "clocks": folder of the known libraries
    csv, plot: files to write the table to, as CSV and as .svg, .png or .pdf
    parameters: of what is measured, of tables that take these

    Raises
    ------
    ValueError for an unknown table, an option that it does not take, and for a wrong value.
    """
    from ..registry import tables

    known = tables()
    if not isinstance(name, str) or name not in known:
        raise UnknownName(unknown("table", name, known, "tilewright table"))
    from ..commands.table import measured_table, other_outputs

    each = [files] if isinstance(files, (str, os.PathLike)) else files
    given: dict[str, object] = {
        "files": [Path(file) for file in each],
        "full": full or None,
        "scale": scale,
        "only": only if only is None or isinstance(only, str) else ",".join(only),
        "unit": [unit] if isinstance(unit, str) else list(unit),
        "small": small or None,
        "kept": kept or None,
        "liberty_path": None if liberty_path is None else Path(liberty_path),
    }
    if parameters:
        given["settings"] = [f"{key}={setting_text(value)}" for key, value in parameters.items()]
    keywords = {f"--{key.replace('_', '-')}" for key in (*given, "target", "csv", "plot")}
    with python_errors(keywords), noting() as notes:
        write_others = other_outputs(
            *(None if file is None else Path(file) for file in (csv, plot))
        )
        shared = ("target", "csv", "plot")
        found = measured_table(name, known[name].function, target, given, shared=shared)
        write_others(found)
    figures = found.to_json()
    if notes.configs:
        figures["configs"] = [{"unit": unit, "config": config} for unit, config in notes.configs]
    return result_of(f"table {name}", found.print, figures)


def setting_text(value: object) -> str:
    """A value as a command line has it: sequences by commas, yes and no as true and false."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(map(setting_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
