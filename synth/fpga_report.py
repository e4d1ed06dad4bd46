"""Reports of designs in field-programmable gate arrays, and their parts in the source's terms.

Synthesis puts modules together. It names a cell, and a wire that is not in the Verilog, after a
signal beside it, behind the names of the instances around that: ``queue.level_TRELLIS_FF_Q`` is a
register of ``level`` in ``queue``. A cell counts for the instance of its name; if its signal is one
between instances of the top module, it counts for the one that drives this.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from .report import Report, numbers_table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["FpgaReport", "Hierarchy", "InstanceUse", "RoutedSegment", "signal_of"]


@dataclass(frozen=True, kw_only=True)
class InstanceUse:
    """Resources of an instance in the top module, with all that is inside it.

    Members
    -------
    instance, module: its name, empty for the top's own cells; the name of its module
    luts, flip_flops, dsps, block_rams: how many it takes
    """

    instance: str
    module: str
    luts: int
    flip_flops: int
    dsps: int
    block_rams: int


@dataclass(frozen=True, kw_only=True)
class RoutedSegment:
    """Cells of the slowest path, one after the other, in one instance.

    Members
    -------
    instance, module: names of instances below the top, separated by dots; the name of the module
    signal: the last one that a cell drives or that is beside it
    source: Python file and line, below the package, where that is made; empty for Verilog of one's
        own
    cells: how many they are
    arrival: at their end, in ns
    logic, routing: the time in ns that cells, and wires to them, take
    """

    instance: str
    module: str
    signal: str
    source: str
    cells: int
    arrival: float
    logic: float
    routing: float


@dataclass(frozen=True)
class Hierarchy:
    """Instances and cells of a netlist.

    Parameters
    ----------
    top: name of the top module
    modules: module by instance, which is named from the top, by dots
    cells: number of cells by type, by instance in the top module; empty for the top's own
    """

    top: str
    modules: Mapping[str, str]
    cells: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(cls, modules: Mapping[str, Any], top: str, before: Mapping[str, Any]) -> Hierarchy:
        """Reads it from yosys' JSON.

        Parameters
        ----------
        modules: of the netlist
        before: before synthesis, all modules
        """
        found: dict[str, str] = {}
        cells: dict[str, Counter[str]] = {}
        kinds = {cell["type"] for cell in modules[top]["cells"].values()}
        owner = _owners(before, top, kinds)

        def visit(module: str, before: str) -> None:
            for name, cell in modules[module]["cells"].items():
                kind, path = cell["type"], before + name
                if kind == "$scopeinfo":
                    about = cell["attributes"]
                    found[path] = about.get("module_hdlname", about.get("module", ""))
                elif _is_design(modules, kind):
                    found[path] = plain_module(kind)
                    visit(kind, f"{path}.")
                else:
                    first = path.partition(".")[0] if before else owner(name)
                    cells.setdefault(first, Counter())[kind] += 1

        visit(top, "")
        return cls(top, found, cells)

    def total(self) -> Counter[str]:
        """Counts all cells by type."""
        return sum((Counter(cells) for cells in self.cells.values()), Counter())

    def place(self, name: str) -> tuple[str, str, str]:
        """Splits nextpnr's name of a cell: the instance and its module, and the signal."""
        instance, rest = "", name
        for dot in (match.start() for match in re.finditer(r"\.", name)):
            if name[:dot] in self.modules:
                instance, rest = name[:dot], name[dot + 1 :]
        kinds = {kind for cells in self.cells.values() for kind in cells}
        return instance, self.modules.get(instance, self.top), signal_of(rest, kinds)


def _owners(modules: Mapping[str, Any], top: str, kinds: Iterable[str]) -> Callable[[str], str]:
    """From the name of a cell of the top module to the instance that it counts for.

    Parameters
    ----------
    modules, top: before synthesis
    kinds: types of cells after it
    """
    cells, wires = modules[top]["cells"], modules[top]["netnames"]
    instances = {name: cell for name, cell in cells.items() if not name.startswith("$")}
    driver: dict[Any, str] = {}
    sinks: dict[Any, set[str]] = {}
    for name, cell in instances.items():
        for port, bits in cell["connections"].items():
            for bit in bits:
                if cell["port_directions"].get(port) == "output":
                    driver[bit] = name
                else:
                    sinks.setdefault(bit, set()).add(name)

    def outside(instance: str, signal: str) -> list[Any]:
        """Bits of the top module that are bits of a signal in an instance."""
        cell = instances[instance]
        module = modules.get(cell["type"], {"ports": {}, "netnames": {}})
        joined: dict[Any, Any] = {}
        for port, about in module["ports"].items():
            joined |= zip(about["bits"], cell["connections"].get(port, ()), strict=False)
        bits = module["netnames"].get(signal, {"bits": ()})["bits"]
        return [joined[bit] for bit in bits if bit in joined]

    def owner(name: str) -> str:
        first, dot, rest = name.partition(".")
        if dot and first in instances:
            bits = outside(first, signal_of(rest, kinds))
            return next((driver[bit] for bit in bits if bit in driver), first)
        bits = wires.get(signal_of(name, kinds), {"bits": []})["bits"]
        around = {driver[bit] for bit in bits if bit in driver}
        around = around or set().union(*(sinks.get(bit, set()) for bit in bits))
        return around.pop() if len(around) == 1 else ""

    return owner


def signal_of(name: str, kinds: Iterable[str]) -> str:
    """The signal after which a cell, or a wire at one, is named: these are types of cells."""
    known = "|".join(map(re.escape, sorted(kinds)))
    cell = re.search(rf"_(?:(?:SB|TRELLIS)_[A-Z]|(?:{known})(?=_|$))", name)
    return name[: cell.start()] if cell else re.sub(r"\[\d+\]$", "", name)


def _is_design(modules: Mapping[str, Any], kind: str) -> bool:
    """Tells whether a type of cells is a module of the design: the device's have no contents."""
    return kind in modules and not int(modules[kind]["attributes"].get("blackbox", "0"), 2)


def plain_module(name: str) -> str:
    """The name of a module in the Verilog, without those of its parameters."""
    parts = name.split("\\")
    return next((part for part in parts[1:] if part), name) if name.startswith("$") else name


def routed_segments(
    path: Sequence[Mapping[str, Any]], hierarchy: Hierarchy, source: Callable[[str, str], str]
) -> tuple[RoutedSegment, ...]:
    """A critical path of nextpnr's report: its cells, together while they are in one instance."""
    found: list[RoutedSegment] = []
    arrival = 0.0
    steps: list[tuple[tuple[str, str, str], Mapping[str, Any]]] = []
    for step in path:
        place = hierarchy.place(cell := step["to"]["cell"])
        if cell.startswith("$") and steps:
            # A cell that nextpnr has added.
            place = (*steps[-1][0][:2], "")
        steps.append((place, step))
    for (instance, module), together in groupby(steps, lambda one: one[0][:2]):
        logic, routing, signal, cells = 0.0, 0.0, "", set[str]()
        for (_, _, own), step in together:
            if step["type"] == "routing":
                routing += step["delay"]
            else:
                logic += step["delay"]
            signal = own or signal
            cells.add(step["to"]["cell"])
        arrival += logic + routing
        found.append(
            RoutedSegment(
                instance=instance,
                module=module,
                signal=signal,
                source=source(module, signal),
                cells=len(cells),
                arrival=arrival,
                logic=logic,
                routing=routing,
            )
        )
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class FpgaReport(Report):
    """A design in a field-programmable gate array, placed and routed out of context.

    Members
    -------
    device: what it was placed in
    luts, flip_flops, dsps, block_rams: how many it takes
    instances: likewise, by instance in the top module, most look-up tables first
    fmax_mhz: the clock after routing; None for a design without a clock
    path_ns: length of the slowest path, setup time included; None without one
    start, end: registers at its ends, by hierarchical name
    segments: where it runs, an instance after the other
    tools: versions of yosys and nextpnr
    seed: nextpnr's
    """

    device: str
    luts: int
    flip_flops: int
    dsps: int
    block_rams: int
    instances: tuple[InstanceUse, ...] = ()
    fmax_mhz: float | None
    path_ns: float | None = None
    start: str
    end: str
    segments: tuple[RoutedSegment, ...] = field(default=())
    tools: str = ""
    seed: int = 1

    def print(self, console: Console) -> None:
        from rich.table import Table

        console.print(f"[bold]{self.unit}[/bold] in {self.device} ({self.target})", highlight=False)
        facts = Table(show_header=False, box=None, pad_edge=False)
        facts.add_column()
        facts.add_column(justify="right")
        for label, name in (
            ("look-up tables", "luts"),
            ("flip-flops", "flip_flops"),
            ("multipliers (DSP)", "dsps"),
            ("block RAMs", "block_rams"),
        ):
            facts.add_row(label, f"{getattr(self, name):,}")
        if self.fmax_mhz is not None:
            facts.add_row("clock, MHz", f"{self.fmax_mhz:,.1f}")
            for label, *rest in self.slack_row():
                facts.add_row(label, " ".join(rest))
        console.print(facts)
        if self.start:
            console.print(f"slowest path: {self.start} to {self.end}", highlight=False)
            console.print(self._path_table())
        if self.instances:
            console.print(self._instance_table())
        if self.tools:
            console.print(f"by {self.tools}, seed {self.seed}", highlight=False)

    def _path_table(self) -> RenderableType:
        from rich.table import Table

        table = Table(title="critical path, instance by instance", title_justify="left")
        for heading in ("ns", "logic", "routing", "cells"):
            table.add_column(heading, justify="right", no_wrap=True)
        for heading in ("instance\nmodule", "signal"):
            table.add_column(heading, overflow="fold")
        table.add_column("Python", no_wrap=True, overflow="fold")
        for one in self.segments:
            times = f"{one.arrival:.2f}", f"{one.logic:.2f}", f"{one.routing:.2f}"
            place = f"{one.instance or '(top)'}\n{one.module}"
            table.add_row(*times, f"{one.cells:,}", place, one.signal, one.source)
        return table

    def _instance_table(self) -> RenderableType:
        headings = ("LUTs", "share", "FFs", "DSPs", "RAMs")
        table = numbers_table("resources by instance of the top module", "instance", headings)
        for one in self.instances:
            share = f"{100 * one.luts / self.luts:.1f} %" if self.luts else "-"
            rest = f"{one.flip_flops:,}", f"{one.dsps:,}", f"{one.block_rams:,}"
            label = f"{one.instance} ({one.module})" if one.instance else "cells of the top"
            table.add_row(label, f"{one.luts:,}", share, *rest)
        return table


def instance_uses(
    hierarchy: Hierarchy, count: Callable[[Mapping[str, int]], Mapping[str, int]]
) -> Iterator[InstanceUse]:
    """The resources of each instance in the top module.

    Parameters
    ----------
    count: from cells by type to the numbers of a report
    """
    for instance, cells in hierarchy.cells.items():
        module = hierarchy.modules.get(instance, hierarchy.top)
        yield InstanceUse(instance=instance, module=module, **count(cells))
