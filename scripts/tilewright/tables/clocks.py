"""The table of the clocks that all units reach in several cell libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ..clocks import draw_periods
from ..errors import UserError
from ..hw.spec.host.words import not_one_of, unknown
from ..registry import Entry, entries
from ..synth.tables import Row, Table, Tables

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from ..hw.emit.unit import Emitted
    from ..synth.tables.clocks import Clock, Column

__all__ = ["EFFORTS", "LIBRARIES", "Clocks", "clocks"]

LIBRARIES = ("cmos", "gscl45nm", "sg13g2", "sky130hd", "asap7")
EFFORTS = ("area", "speed")

Place = tuple[str, str, str]
"""Unit, library and effort of a result."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Clocks(Tables):
    """The tables, what limits each clock, and what is missing.

    Members
    -------
    found: the results
    designs: by unit, what was measured: ``config``, its values of parameters, and ``verilog``, a
        digest
    missing: by what is missing, why
    fo4: FO4 in ns of each library that is there
    """

    found: Mapping[Place, Clock] = field(default_factory=dict)
    designs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    fo4: Mapping[str, float] = field(default_factory=dict)

    def _limits(self) -> Iterator[tuple[str, str, str, Clock]]:
        """Unit, library, effort and result: of speed, or of area where speed is missing."""
        for (unit, library, effort), clock in self.found.items():
            if effort == "speed" or (unit, library, "speed") not in self.found:
                yield unit, library, effort, clock

    def to_json(self) -> dict[str, Any]:
        """``{"table", "parts": [as Table.to_json, ...], "fo4_ns", "results": [{"unit", "library",
        "effort", "config", "verilog", members of Clock}, ...], "missing": [{"what", "why"},
        ...]}``."""
        results = [
            {
                "unit": unit, "library": library, "effort": effort, **self.designs[unit],
                **asdict(clock),
            }
            for (unit, library, effort), clock in self.found.items()
        ]  # fmt: skip
        missing = [{"what": what, "why": why} for what, why in self.missing.items()]
        more = {"fo4_ns": {**self.fo4}, "results": results, "missing": missing}
        return {**super().to_json(), **more}

    def print(self, console: Console) -> None:
        """Write the tables to a Rich console, what limits each clock, and what is missing."""
        from rich.table import Table as RichTable

        super().print(console)
        shown = RichTable(title="what limits the clock", title_justify="left")
        for heading in ("unit", "library\nmapped for"):
            shown.add_column(heading, no_wrap=True)
        for heading in ("longest in module, share of the path", "path"):
            shown.add_column(heading, overflow="fold")
        for unit, library, effort, clock in self._limits():
            if clock.limit is None:
                cells = ["none", f"no path: {clock.reason}"]
            else:
                one = clock.limit
                where = f"{one.module}, {100 * one.share:.0f} %"
                if one.memory:
                    where += f"; memories {100 * one.memory:.0f} %"
                cells = [f"{where}\n{one.source}".rstrip()]
                cells.append(f"{one.kind}:\n{one.start}\n-> {one.end}")
            shown.add_row(unit, f"{library}\n{effort}", *cells)
        if shown.row_count:
            console.print(shown)
        for library, delay in self.fo4.items():
            console.print(f"{library}: FO4 is {delay:.4f} ns")
        for what, why in self.missing.items():
            console.print(f"missing: {what}: {why}")


def _chosen(only: str, unit: Sequence[str]) -> tuple[list[str], dict[str, Entry]]:
    """The libraries and the units that are asked for, in the table's order."""
    wanted = only.split(",") if only else LIBRARIES
    for name in wanted:
        if name not in LIBRARIES:
            raise UserError(not_one_of("--only", LIBRARIES, name))
    known = entries()
    for name in unit:
        if name not in known:
            raise UserError(unknown("unit", name, known, "tilewright list"))
    units = {name: entry for name, entry in known.items() if name in unit or not unit}
    return [name for name in LIBRARIES if name in wanted], units


def _grid(
    found: Mapping[Place, Clock], units: Sequence[str], libraries: Sequence[str], size: str
) -> Table:
    """Periods of all units in all libraries, mapped for speed."""
    rows = []
    for unit in units:
        each = [found.get((unit, library, "speed")) for library in libraries]
        figures = [x for one in each for x in ((one.ns, one.fo4) if one else (None, None))]
        rows.append(Row(unit, [None] * len(figures), figures, [3, 1] * len(libraries)))
    columns = [f"{library}, {what}" for library in libraries for what in ("ns", "FO4")]
    return Table("clocks", f"mapped for speed, {size}", columns, rows)


def _column(found: Mapping[Place, Clock], units: Sequence[str], library: str, size: str) -> Table:
    """Areas and periods of all units in one library."""
    unit_of_area = "transistors" if library == "cmos" else "library's unit"
    rows = []
    for unit in units:
        known = [found.get((unit, library, effort)) for effort in EFFORTS]
        measured = next((one for one in known if one), None)
        figures: list[float | None] = [None, None]
        if measured:
            figures = [float(measured.memory_bits), measured.memory_area]
        for one in known:
            figures += [one.area, one.ns, one.fo4] if one else [None] * 3
        fast = figures[-2]
        figures.append(1000 / fast if fast else None)
        rows.append(Row(unit, [None] * len(figures), figures, (0, 0, 0, 3, 1, 0, 3, 1, 0)))
    columns = ["memory bits", f"memory, {unit_of_area}"]
    for effort in EFFORTS:
        columns += [f"{effort}: logic, {unit_of_area}", f"{effort}: ns", f"{effort}: FO4"]
    return Table("clocks", f"{library}, {size}", [*columns, "speed: MHz"], rows)


class _Measuring:
    """Fills the table, unit by unit: the Verilog of one is written once for all libraries."""

    def __init__(self, *, small: bool, kept: bool, progress: Progress) -> None:
        self._small, self._kept, self._progress = small, kept, progress
        self.found: dict[Place, Clock] = {}
        self.designs: dict[str, dict[str, Any]] = {}
        self.missing: dict[str, str] = {}
        self.libraries: dict[str, Column] = {}

    def read(self, names: Sequence[str], liberty_path: Path | None) -> None:
        """Reads libraries; those that are not there are missing."""
        from ..synth.tables.clocks import column

        for name in names:
            try:
                self.libraries[name] = column(name, liberty_path)
            except ValueError as error:
                self.missing[name] = str(error)

    def unit(self, entry: Entry, about: str) -> None:
        """All results of a unit."""
        from ..hw.emit.unit import emit

        config = entry.small_config if self._small else entry.unit.config()
        self._progress(f"{about}: writing its Verilog")
        emitted = emit(entry.unit, config)
        digest = sha256(emitted.verilog.encode()).hexdigest()[:16]
        self.designs[entry.unit.name] = {"config": config.resolved(), "verilog": digest}
        for library in self.libraries.values():
            for effort in EFFORTS:
                self._progress(f"{about}: {library.name}, for {effort}")
                self._one(entry.unit.name, emitted, library, effort)

    def _one(self, unit: str, emitted: Emitted, library: Column, effort: str) -> None:
        from ..synth.base.errors import ToolError
        from ..synth.tables.clocks import kept_clock, measured_clock

        what = f"{unit} in {library.name} for {effort}"
        try:
            clock = (kept_clock if self._kept else measured_clock)(emitted, library, effort)
        except (ValueError, ToolError) as error:
            self.missing[what] = str(error)
            return
        if clock is None:
            self.missing[what] = "not measured yet"
        else:
            self.found[unit, library.name, effort] = clock


def clocks(
    target: str,
    progress: Progress = lambda said: None,
    *,
    only: str = "",
    unit: Sequence[str] = (),
    small: bool = False,
    kept: bool = False,
    liberty_path: Path | None = None,
) -> Clocks:
    """Measures the clock and the area of units in cell libraries, for area and for speed, without
    wires. The cache keeps each result: a table that was interrupted goes on where it stopped.

    Parameters
    ----------
    target: "cmos", the default: ``only`` names the libraries
    progress: is told what comes next
    only: libraries of :data:`LIBRARIES`, separated by commas; all without any
    unit: names of units; all without any
    small: their small configurations, not the default ones
    kept: measure nothing, and show what the cache has
    liberty_path: folder of the known libraries, by default that of ``TILEWRIGHT_LIBERTY``

    A library whose files are not there, and a unit that a tool fails for, are told as missing.
    Raises UserError for another target, and for an unknown library or unit.
    """
    if target != "cmos":
        raise UserError(f"clocks takes its libraries by --only: no --target, not {target!r}")
    names, units = _chosen(only, unit)
    work = _Measuring(small=small, kept=kept, progress=progress)
    work.read(names, liberty_path)
    libraries = list(work.libraries)
    for number, (name, entry) in enumerate(units.items() if libraries else ()):
        work.unit(entry, f"{name}, {number + 1} of {len(units)}")
    size = f"{'small' if small else 'default'} configurations"
    parts = [_column(work.found, list(units), library, size) for library in libraries]
    if len(libraries) > 1:
        parts.insert(0, _grid(work.found, list(units), libraries, size))
    fo4 = {name: library.fo4 for name, library in work.libraries.items()}
    periods = [
        (name, library, clock.fo4)
        for (name, library, effort), clock in work.found.items()
        if effort == "speed" and clock.fo4 is not None
    ]
    return Clocks(
        "clocks", parts, found=work.found, designs=work.designs, missing=work.missing, fo4=fo4,
        drawing=partial(draw_periods, periods=periods) if periods else None,
    )  # fmt: skip
