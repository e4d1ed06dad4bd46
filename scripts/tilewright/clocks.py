"""The clocks that units reach in synthesis, as ``table clocks`` measured them, and times at them.

``clocks.json`` beside this module is the record: for each unit, configuration and cell library the
period of the netlist mapped for speed. ``python -m tilewright.clocks REPORT.json`` puts the results
of ``tilewright table clocks --json REPORT.json`` into it, and ``--plot FILE.svg`` plots it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import UserError, user_errors
from .hw.spec.host import inputs
from .hw.spec.host.plots import COLOURS, PLOT_SUFFIXES, can_plot, write_plot
from .registry import entries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "PAPERS",
    "SHOWN",
    "ReachedClock",
    "clock_rows",
    "draw_periods",
    "duration",
    "measured",
    "merged",
    "reached_clocks",
    "times",
]  # fmt: skip

RECORD = Path(__file__).with_name("clocks.json")
"""The record: a JSON list of rows with the members of ``_MEMBERS``."""

SHOWN = ("asap7", "gscl45nm", "cmos")
"""Libraries whose clocks are printed beside a time."""

GOAL_FO4 = 44.0
"""Period in FO4 that every unit should reach: 1.0 ns in ``cmos``."""

_MARKS = {"cmos": "o", "gscl45nm": "s", "sg13g2": "^", "sky130hd": "v", "asap7": "D"}
"""Marks of the libraries in plots, in their order."""

PAPERS = {
    "gta": (1.0, "the paper's 1 GHz"),
    "matraptor": (2.0, "the paper's 2 GHz"),
    "sida": (1.0, "the paper's 1 GHz"),
    "tensaurus": (1.0, "1 GHz, as the paper's elements (every other cycle of 2 GHz)"),
}
"""Clocks in GHz that the papers give, in words, by unit. They name none for the other units."""

_SAME = {"t2s": ("design",)}
"""Parameters, by unit, without whose value a clock is that of other hardware."""

_MEMBERS = ("unit", "config", "library", "ns", "fo4", "area", "memory_bits", "verilog")


class ReachedClock(NamedTuple):
    """The clock of a unit in a library.

    Members
    -------
    library: its name
    gigahertz: 1 over the period of the netlist mapped for speed
    differs: parameters of the measured configuration that the given one has other values of; empty
        if that configuration itself was measured
    """

    library: str
    gigahertz: float
    differs: Mapping[str, Any]


@cache
def _record() -> Sequence[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return rows


def reached_clocks(
    unit: str,
    config: Mapping[str, Any],
    libraries: Iterable[str] = SHOWN,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> list[ReachedClock]:
    """The clocks of a configuration in libraries. Where it was not measured, those of the measured
    configuration of the same unit with the fewest other values; a library without any is left out.

    Parameters
    ----------
    unit, config: the unit's name, and the values of its parameters by name
    rows: those of the record by default
    """
    found = []
    same = _SAME.get(unit, ())
    known = [
        row
        for row in (_record() if rows is None else rows)
        if row["unit"] == unit and all(row["config"].get(k) == config.get(k) for k in same)
    ]
    for library in libraries:
        others = [
            (1 / row["ns"], {k: v for k, v in row["config"].items() if config.get(k, v) != v})
            for row in known
            if row["library"] == library
        ]
        if others:
            rate, differs = min(others, key=lambda one: len(one[1]))
            found.append(ReachedClock(library, rate, differs))
    return found


def duration(nanoseconds: float) -> str:
    """A time in words, with four digits: "206.3 us"."""
    for name, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:,.4g} {name}"
    return f"{nanoseconds:,.4g} ns"


def _rate(gigahertz: float) -> str:
    return f"{gigahertz:.3g} GHz" if gigahertz >= 1 else f"{1000 * gigahertz:.3g} MHz"


def clock_rows(
    unit: str, config: Mapping[str, Any], cycles: int, gigahertz: float, memory: str
) -> list[tuple[str, str]]:
    """Rows of a report: the time of cycles at the clocks that synthesis reaches, and at the clock
    that was simulated.

    Parameters
    ----------
    unit, config: the unit's name, and the values of its parameters by name
    gigahertz: the simulated clock
    memory: the simulated memory's name, "flat" for one without times in ns
    """
    reached = reached_clocks(unit, config)
    each = "; ".join(
        f"{duration(cycles / one.gigahertz)} at {_rate(one.gigahertz)}, {one.library}"
        for one in reached
    )
    if not reached:
        each = (
            f"not known: this clock is not measured; `tilewright synth {unit} --target asap7` does"
        )
    rows = [("time", each)]
    if reached:
        one = min(reached, key=lambda clock: len(clock.differs))
        nearest = ", ".join(f"{name}={value}" for name, value in one.differs.items())
        what = f"the nearest measured: {nearest}" if nearest else "this configuration"
        rows.append(("clocks", f"of synthesis for speed, without wires; {what} (`table clocks`)"))
    paper, named = PAPERS.get(unit, (None, ""))
    named = named if gigahertz == paper else _rate(gigahertz)
    counted = "" if memory == "flat" else f"; cycles are those on {memory} at this clock"
    assumed = f"{duration(cycles / gigahertz)} at {named}{counted}"
    return [*rows, ("assumed clock", assumed)]


def times(unit: str, config: Mapping[str, Any], cycles: int | None) -> list[dict[str, Any]]:
    """The same for JSON: for each library ``{"library", "gigahertz", "microseconds", "differs"}``;
    the time is null without cycles."""
    return [
        {
            "library": one.library, "gigahertz": one.gigahertz,
            "microseconds": cycles / one.gigahertz / 1000 if cycles else None,
            "differs": dict(one.differs),
        }
        for one in reached_clocks(unit, config)
    ]  # fmt: skip


def measured(unit: str, config: Mapping[str, Any]) -> str:
    """Returns a sentence on the clocks that a configuration reaches, for tables at a paper's
    clock."""
    reached = reached_clocks(unit, config)
    if not reached:
        return f"No clock of {unit} is measured."
    each = ", ".join(f"{_rate(one.gigahertz)} in {one.library}" for one in reached)
    nearest = ", ".join(f"{name}={value}" for name, value in reached[0].differs.items())
    return f"{unit} reaches {each}" + (
        f" with {nearest}, the nearest measured." if nearest else "."
    )


def merged(rows: Iterable[Mapping[str, Any]], report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A record with the results for speed of a report of ``table clocks``, in order of unit,
    library and configuration. Raises UserError if it is no such report."""
    try:
        new = [
            {name: result[name] for name in _MEMBERS}
            for result in report["results"]
            if result["effort"] == "speed" and result["ns"] is not None
        ]
    except (KeyError, TypeError):
        raise UserError("the file must be what `table clocks --json` writes") from None

    def place(row: Mapping[str, Any]) -> tuple[str, str, str]:
        return row["unit"], row["library"], json.dumps(row["config"], sort_keys=True)

    kept = {place(row): row for row in (*rows, *new)}
    return [kept[key] for key in sorted(kept)]


def _label(row: Mapping[str, Any]) -> str:
    """Returns the name of a row's unit, with the size of its configuration."""
    entry = entries().get(row["unit"])
    sizes = {"small": entry.small_config, "default": entry.unit.config()} if entry else {}
    for size, config in sizes.items():
        if json.loads(json.dumps(config.resolved())) == row["config"]:
            return f"{row['unit']}, {size}"
    return f"{row['unit']}, other"


def draw_periods(figure: Figure, periods: Iterable[tuple[str, str, float]]) -> None:
    """Draws periods in FO4, a line for each configuration and a mark for each library.

    Parameters
    ----------
    periods: label of the configuration, library and period in FO4
    """
    each = list(periods)
    labels = list(dict.fromkeys(label for label, _, _ in each))
    figure.set_size_inches(7.6, 1.4 + 0.28 * len(labels))
    axes = figure.subplots()
    for colour, (library, mark) in zip(COLOURS, _MARKS.items(), strict=False):
        found = [(fo4, labels.index(label)) for label, name, fo4 in each if name == library]
        if found:
            axes.plot(*zip(*found, strict=True), mark, color=colour, label=library)
    axes.axvline(GOAL_FO4, color="#222222", linestyle="--", linewidth=1, zorder=1)
    axes.annotate(
        f"goal: {GOAL_FO4:g} FO4", (GOAL_FO4, 1), (3, 3), xycoords=("data", "axes fraction"),
        textcoords="offset points", fontsize="small",
    )  # fmt: skip
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("period in FO4, mapped for speed, without wires")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)


def main(words: Sequence[str] | None = None) -> int:
    """Puts reports into the record and plots it; returns 2 for a wrong file."""
    parser = argparse.ArgumentParser(
        prog="python -m tilewright.clocks",
        description="Put measured clocks into the record, and plot the record.",
    )
    parser.add_argument(
        "report", nargs="*", type=Path, help="file that `tilewright table clocks --json` wrote"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE.svg|png|pdf", help="plot the record")
    rows: list[Mapping[str, Any]] = list(_record())
    given = parser.parse_args(words)
    if not given.report and given.plot is None:
        parser.error("give a report, or --plot")
    try:
        for file in given.report:
            with user_errors(OSError, ValueError):
                rows = merged(rows, json.loads(inputs.read_bytes(file)))
        if given.plot is not None:
            _plot(given.plot, rows)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if given.report:
        lines = ",\n".join(json.dumps(row) for row in rows)
        RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        print(f"{len(rows)} clocks in {RECORD}")
    return 0


def _plot(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Plots a record. Raises UserError if the file cannot be written."""
    if path.suffix.lower() not in PLOT_SUFFIXES:
        raise UserError(f"{path}: must end in {', '.join(PLOT_SUFFIXES)}")
    if not can_plot():
        raise UserError("--plot needs Matplotlib: pip install 'tilewright[apps]'")
    periods = [(_label(row), row["library"], row["fo4"]) for row in rows]
    with user_errors(OSError):
        title = "Periods of units in FO4, by library"
        write_plot(path, title, partial(draw_periods, periods=periods))


if __name__ == "__main__":
    sys.exit(main())
