"""Reports of synthesis runs, for readers and for programs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from .curve import CurvePoint, EffortFigures, curve_table, effort_table
from .memories.report import MemoryLaw, MemoryReport, RegisterFile, memory_table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = [
    "CHECK_PERCENT", "AsicReport", "ModuleArea", "PathReport", "PathSegment", "PathStep", "Report",
    "numbers_table",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Report:
    """Base of the reports of all targets.

    Members
    -------
    unit: name of the unit, or of the top module
    config: its configuration, resolved; empty for plain Verilog
    target: as it was asked for
    period_ns: of the clock that is wanted; None if none was asked for
    slack_ns: what the slowest path leaves of it, negative if it is too long; None without a period
        or a path
    """

    unit: str
    config: Mapping[str, Any] = field(default_factory=dict)
    target: str
    period_ns: float | None = None
    slack_ns: float | None = None

    @property
    def passed(self) -> bool:
        """True if the slowest path meets the requested clock, or if none is requested."""
        return self.slack_ns is None or self.slack_ns >= 0

    def slack_row(self) -> list[tuple[str, str, str]]:
        """Returns the row of the slack if a clock is requested: label, number, unit and verdict."""
        if self.period_ns is None or self.slack_ns is None:
            return []
        clock = f"{self.period_ns:g} ns ({1000 / self.period_ns:,.1f} MHz)"
        verdict = "met" if self.passed else "NOT met"
        return [("slack", f"{self.slack_ns:+.3f}", f"ns at {clock}: {verdict}")]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, under the names of the members."""
        return asdict(self)

    @abstractmethod
    def print(self, console: Console) -> None:
        """Write the report to a Rich console."""


CHECK_PERCENT = 0.1
"""The largest accepted difference between OpenSTA's slowest path and ours, in percent."""


@dataclass(frozen=True, kw_only=True)
class ModuleArea:
    """Area of one module.

    Members
    -------
    instances: how many the whole design has
    combinational, sequential: area of one instance, without the modules inside it
    flip_flops: in one instance, likewise
    total: area of all instances, likewise
    whole: area of one instance with all that is inside it, but for large memories
    memory_bits: of the large memories inside one instance; memory_area: of these, estimated
    """

    name: str
    instances: int
    combinational: float
    sequential: float
    flip_flops: int
    total: float
    whole: float
    memory_bits: int = 0
    memory_area: float = 0.0


@dataclass(frozen=True, kw_only=True)
class PathStep:
    """A cell on the slowest path.

    Members
    -------
    cell: its name in the library
    instance, module: where it is: names of instances below the top, separated by dots, and the
        name of the module
    signal: what it drives, by its name in the module; empty where that has no name in the Verilog
    edge: "rise" or "fall" of that signal
    arrival: of that edge, in ns
    fanout: pins that it drives
    """

    cell: str
    instance: str
    module: str
    signal: str
    edge: str
    arrival: float
    fanout: int


@dataclass(frozen=True, kw_only=True)
class PathSegment:
    """Cells of the slowest path, one after the other, in one instance.

    Members
    -------
    instance, module: of these, as in ``PathStep``
    signal: the last one that has a name; empty without one
    source: Python file and line, below the package, where that is made, or else the class of the
        module's component; empty for Verilog of one's own
    cells: how many they are
    fanout: the largest
    arrival: at their end, in ns
    increment: the time in ns that they take
    """

    instance: str
    module: str
    signal: str
    source: str
    cells: int
    fanout: int
    arrival: float
    increment: float


@dataclass(frozen=True, kw_only=True)
class PathReport:
    """The slowest path.

    Members
    -------
    kind: "register to register", "input to register", ...
    start, end: the registers or ports, by hierarchical name
    ns, fo4: its length, setup time included, in ns and in FO4 inverter delays
    fmax_mhz: the clock it allows
    cells: how many cells it passes
    opensta_ns: the same by OpenSTA, where that was run; opensta_percent: how much more that is
    setup_ns: setup time of the register where it ends; 0 at an output
    start_source, end_source: Python file and line of start and end, as of a ``PathSegment``
    segments: where it runs, an instance after the other
    steps: the cells
    access_ns: access time of the memory where it begins, 0 elsewhere
    memory_setup_ns: setup time of the memory where it ends, 0 elsewhere; both are part of ``ns``
    """

    kind: str
    start: str
    end: str
    ns: float
    fo4: float
    fmax_mhz: float
    cells: int
    opensta_ns: float | None
    opensta_percent: float | None = None
    setup_ns: float = 0.0
    start_source: str = ""
    end_source: str = ""
    segments: tuple[PathSegment, ...] = ()
    steps: tuple[PathStep, ...] = ()
    access_ns: float = 0.0
    memory_setup_ns: float = 0.0

    @property
    def memory_ns(self) -> float:
        """The part of the path that is of memories."""
        return self.access_ns + self.memory_setup_ns

    def table(self) -> RenderableType:
        """Table of the path, with a row for each segment."""
        from rich.table import Table

        table = Table(title="critical path, instance by instance", title_justify="left")
        for heading in ("ns", "+ ns", "cells", "fan-out"):
            table.add_column(heading, justify="right", no_wrap=True)
        for heading in ("instance\nmodule", "signal"):
            table.add_column(heading, overflow="fold")
        table.add_column("Python", no_wrap=True, overflow="fold")
        for one in self.segments:
            spent = f"{one.arrival:.3f}", f"{one.increment:.3f}"
            figures = *spent, f"{one.cells:,}", f"{one.fanout:,}"
            place = f"{one.instance or '(top)'}\n{one.module}"
            table.add_row(*figures, place, one.signal, one.source)
        if self.setup_ns:
            figures = f"{self.ns:.3f}", f"{self.setup_ns:.3f}", "", ""
            end = self.end.rpartition(".")[2]
            table.add_row(*figures, "setup time", end, self.end_source)
        return table


@dataclass(frozen=True, kw_only=True)
class AsicReport(Report):
    """A design in standard cells.

    Members
    -------
    library: name of the cell library
    area_unit: "transistors", or "library units" (which are um2 in most)
    area: of the logic, which is all but large memories; combinational, sequential and buffer_area
        are its three parts
    buffer_area, buffers: the trees on nets of high fan-out that cross modules
    nand2_equivalents: area in two-input NAND gates of the library
    transistors: for the target ``cmos``, else None
    flip_flops, cells: how many
    memory_bits: of all large memories, see :mod:`.memories`
    memory_area: of these, an estimate; memory_law says how it is made, None without any
    area_with_memories, nand2_equivalents_with_memories: the sum of logic and memories
    memories: the different ones, most bits first; register_files: those that are made of flip-flops
    modules: largest total first
    path: None for a design without any path
    fo4_ns: the library's FO4 inverter delay
    timing_by: which analysis ``path`` is from
    effort: what the cells are mapped for, "area" or "speed"; all else is of that design
    efforts: figures of each effort that was tried
    least_period_ns: of the fastest design that was found, where speed was looked for
    curve: areas over periods, where these were asked for
    wires: "none", or "wireload" for those of the library's wire-load model
    """

    library: str
    area_unit: str
    area: float
    combinational: float
    sequential: float
    buffer_area: float
    buffers: int
    nand2_equivalents: float
    transistors: int | None
    flip_flops: int
    cells: int
    modules: tuple[ModuleArea, ...]
    path: PathReport | None
    fo4_ns: float
    timing_by: str
    memory_bits: int = 0
    memories: tuple[MemoryReport, ...] = ()
    register_files: tuple[RegisterFile, ...] = ()
    memory_area: float = 0.0
    memory_law: MemoryLaw | None = None
    area_with_memories: float = 0.0
    nand2_equivalents_with_memories: float = 0.0
    effort: str = "area"
    efforts: tuple[EffortFigures, ...] = ()
    least_period_ns: float | None = None
    curve: tuple[CurvePoint, ...] = ()
    wires: str = "none"

    @property
    def passed(self) -> bool:
        """True if the slowest path meets the requested clock, or if none is requested, and if
        OpenSTA agrees, where it was asked."""
        percent = self.path.opensta_percent if self.path else None
        return super().passed and (percent is None or abs(percent) <= CHECK_PERCENT)

    def print(self, console: Console) -> None:
        from rich.table import Table

        console.print(
            f"[bold]{self.unit}[/bold] in {self.library} ({self.target})", highlight=False
        )
        console.print(self._area_table())
        if len(self.efforts) > 1:
            what = self.effort if self.period_ns is None else f"{self.period_ns:g} ns"
            own = EffortFigures(effort=what, area=self.area, ns=self.path.ns if self.path else 0.0)
            console.print(effort_table(self.efforts, self.area_unit, self.fo4_ns, own))
        facts = Table(show_header=False, box=None, pad_edge=False)
        facts.add_column()
        facts.add_column(justify="right")
        facts.add_column(overflow="fold")
        if self.path:
            path = self.path
            facts.add_row("critical path", f"{path.ns:.3f}", f"ns, {path.kind}")
            facts.add_row("", f"{path.fo4:.1f}", f"FO4 of {self.fo4_ns * 1000:.1f} ps")
            facts.add_row("clock", f"{path.fmax_mhz:,.1f}", "MHz")
            for row in self.slack_row():
                facts.add_row(*row)
            if not super().passed and self.least_period_ns:
                facts.add_row("least period", f"{self.least_period_ns:.3f}", "ns is reached")
            if path.memory_ns:
                what = "access" if path.access_ns else "setup"
                what = "access and setup" if path.access_ns and path.memory_setup_ns else what
                share = f"ns, {100 * path.memory_ns / path.ns:.0f} % of the path: {what}"
                facts.add_row("  of memories", f"{path.memory_ns:.3f}", share)
            facts.add_row("  from", "", path.start)
            facts.add_row("  to", "", path.end)
            facts.add_row("  by", "", self.timing_by)
            if path.opensta_ns is not None:
                said = f"ns, {path.opensta_percent:+.4f} % (allowed: {CHECK_PERCENT} %)"
                facts.add_row("  by OpenSTA", f"{path.opensta_ns:.5f}", said)
            console.print(facts, path.table())
        if self.curve:
            console.print(curve_table(self.curve, self.area_unit))
        console.print(self._module_table())
        if self.memories or self.register_files:
            console.print(memory_table(self.memories, self.register_files))
        if self.memory_law:
            self.memory_law.print(console)

    def _area_table(self) -> RenderableType:
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        table.add_column("area")
        table.add_column(self.area_unit, justify="right")
        table.add_column("NAND2 equivalents", justify="right")
        table.add_column()
        nand2 = self.nand2_equivalents / self.area if self.area else 0.0

        def add(label: str, area: float, remark: str = "") -> None:
            table.add_row(label, f"{area:,.0f}", f"{area * nand2:,.0f}", remark)

        add("logic", self.area)
        add("  combinational", self.combinational)
        add("  sequential", self.sequential, f"{self.flip_flops:,} flip-flops")
        add("  fan-out buffers", self.buffer_area, f"{self.buffers:,} buffers")
        if self.memories:
            add("memories, estimated", self.memory_area, f"{self.memory_bits:,} bits")
            add("sum", self.area_with_memories)
        return table

    def _module_table(self) -> RenderableType:
        headings = ("count", "comb.", "seq.", "FFs", "total", "share")
        table = numbers_table("area by module, without what is inside", "module", headings)
        for module in self.modules:
            areas = f"{module.combinational:,.0f}", f"{module.sequential:,.0f}"
            share = f"{100 * module.total / self.area:.1f} %" if self.area else "-"
            rest = f"{module.flip_flops:,}", f"{module.total:,.0f}", share
            table.add_row(module.name, f"{module.instances:,}", *areas, *rest)
        return table


def numbers_table(title: str, first: str, headings: Sequence[str]) -> Any:
    """A table of numbers, each row behind a name."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column(first, overflow="fold", ratio=1)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
