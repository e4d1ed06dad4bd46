"""Simulates and synthesises units, and measures tables of results."""

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
    """Simulates a unit with random stimuli and checks it against its golden model.

    Parameters
    ----------
    unit: name of the unit
    config, parameters: as for :func:`tilewright.generate`
    count: number of operations of a unit of streams, half of them back to back; 1000 by default.
        For an accelerator number of jobs; 100 by default. At most 1,000,000
    seed: seed of the stimuli, at least 0
    sim: "verilator" or "icarus"
    waves: waveform file to write, ``.vcd`` or ``.fst``

    Returns
    -------
    The report. ``passed`` is True if nothing differed.

    Raises
    ------
    ValueError, TypeError: as :func:`tilewright.generate`, and for wrong values of these options
    ToolMissing: the simulator or a C++ compiler is missing
    BuildError: one of them fails; both errors are in ``tilewright.sim.rtl.build``
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
    """Measures the area and the critical path of a unit.

    Parameters
    ----------
    unit: name of the unit
    config, parameters: as for :func:`tilewright.generate`
    target: "cmos", the name of a known cell library, "liberty:FILE", "ecp5" or "ice40"
    period: clock period to meet in ns; None without one
    frequency: the same as a frequency in MHz, instead of ``period``
    effort: for cell libraries "speed", the default, or "area"
    wires: "none", the default, or "wireload", the library's wire-load model
    curve: file for the curve of area over period, ``.csv``, ``.svg`` or ``.png``
    check: True to analyse the timing by OpenSTA as well, and compare
    dont_use: patterns of names of library cells to avoid
    liberty_path: folder of the known libraries; None for that of ``TILEWRIGHT_LIBERTY``

    Returns
    -------
    The report. ``passed`` is False if the clock is not met, or OpenSTA disagrees.

    Raises
    ------
    ValueError, TypeError: as :func:`tilewright.generate`, and for wrong values of these options
    ValueError: a unit that does not fit the FPGA
    ToolError: a tool is missing or fails; it is in ``tilewright.synth.base.errors``

    Example
    -------
        import tilewright

        report = tilewright.synth("simd2", tile=2, ops=["minplus"], effort="area")
        print(report.json["area"], report.json["area_unit"], report.json["path"]["ns"])
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
    """Measures a table of results, with the papers' numbers beside them.

    Parameters
    ----------
    name: name of a table; ``tilewright table`` lists them
    files: input files, for tables of given files
    target: as for :func:`tilewright.synth`
    full: True for the paper's sizes, for tables that have smaller ones
    scale: fraction of the paper's sizes, for tables that have it
    only: rows or, for "clocks", cell libraries to measure; None for all
    unit: for "clocks", names of units; all without any
    small: for "clocks", True for small configurations
    kept: for "clocks", True to measure nothing and to show what the cache has
    liberty_path: for "clocks", folder of the known libraries
    csv, plot: files to write the table to: as CSV, and as a plot in ``.svg``, ``.png`` or ``.pdf``
    parameters: parameters of the measured unit, for tables that accept them

    Returns
    -------
    The table; its ``json`` has ``columns`` and ``rows``, or ``parts`` with these.

    Raises
    ------
    ValueError: an unknown table; an option that the table does not have; a wrong value

    Example
    -------
        import tilewright

        bandwidth = tilewright.table("c2sr-bandwidth", csv="bandwidth.csv")
        assert len(bandwidth.json["rows"][0]["ours"]) == len(bandwidth.json["columns"])
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
    """Returns a value in the notation of the command line: commas between items, true and false."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(map(setting_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
