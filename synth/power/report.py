"""The report of a measurement of power, for readers and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..report import numbers_table
from .measure import COLUMNS, ModulePower

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["CHECK_PERCENT", "PinPower", "PowerCheck", "PowerReport"]


CHECK_PERCENT = 1.0
"""Difference to OpenSTA that is allowed, under its assumptions."""


@dataclass(frozen=True)
class PinPower:
    """Power in mW of all cells, without that of the clock's nets."""

    internal: float
    switching: float
    leakage: float

    @property
    def total(self) -> float:
        return self.internal + self.switching + self.leakage


@dataclass(frozen=True)
class PowerCheck:
    """Power by OpenSTA, and ours: by the states of cells, without glitches, and under OpenSTA's
    assumptions (:mod:`.opensta`)."""

    by_states: PinPower
    by_pins: PinPower
    opensta: PinPower

    @property
    def percent(self) -> float:
        """Difference of the sums."""
        return 100 * (self.by_pins.total / self.opensta.total - 1)

    @property
    def passed(self) -> bool:
        return abs(self.percent) <= CHECK_PERCENT


@dataclass(frozen=True, kw_only=True)
class PowerReport:
    """Power of a design in standard cells in a recorded run.

    Members
    -------
    unit, config, target, library: what was measured
    volts: of the supply; period_ns: of the clock
    effort, wires: as of :class:`..report.AsicReport`
    stimuli: the recorded run, in words
    cycles: in which changes were counted; operations: in these, None if that is not known
    cells, nets: of the netlist
    delays: "library", or "none" without glitches
    glitch_cycles: those of the cycles in which glitches were counted
    toggles, settled_toggles: changes of a net in a cycle, the mean of all nets; without glitches
    clock_buffers: of the estimated clock tree
    memory_bits: of large memories, whose power is left out
    modules: largest power first, in mW
    check: against OpenSTA, if it was asked for
    """

    unit: str
    config: Mapping[str, Any]
    target: str
    library: str
    volts: float
    period_ns: float
    effort: str
    wires: str
    stimuli: str
    cycles: int
    operations: float | None
    cells: int
    nets: int
    delays: str
    glitch_cycles: int
    toggles: float
    settled_toggles: float
    clock_buffers: int
    memory_bits: int
    modules: tuple[ModulePower, ...]
    check: PowerCheck | None = None

    @property
    def passed(self) -> bool:
        """False if OpenSTA was asked and does not agree."""
        return self.check is None or self.check.passed

    @property
    def total(self) -> dict[str, float]:
        """Power in mW by column, of all, and of all without glitches."""
        found = {name: sum(getattr(row, name) for row in self.modules) for name in COLUMNS}
        settled = sum(row.settled for row in self.modules)
        return {**found, "total": sum(found.values()), "settled": settled}

    @property
    def energy_pj(self) -> dict[str, float | None]:
        """Energy of a cycle and of an operation in pJ."""
        cycle = self.total["total"] * self.period_ns
        known = self.operations
        return {"cycle": cycle, "operation": cycle * self.cycles / known if known else None}

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, under the names of the members."""
        return {**asdict(self), "total_mw": self.total, "energy_pj": self.energy_pj}

    def print(self, console: Console) -> None:
        from rich.table import Table

        console.print(
            f"[bold]{self.unit}[/bold] in {self.library} ({self.target})", highlight=False
        )
        facts = Table(show_header=False, box=None, pad_edge=False)
        facts.add_column()
        facts.add_column(justify="right")
        facts.add_column(overflow="fold")
        total = self.total["total"]
        clock = (
            f"mW at {self.volts:g} V, {self.period_ns:.4g} ns ({1000 / self.period_ns:,.1f} MHz)"
        )
        facts.add_row("power", f"{total:,.4g}", clock)
        energy = self.energy_pj
        facts.add_row("energy", f"{energy['cycle']:,.4g}", "pJ per cycle")
        if energy["operation"] is not None:
            facts.add_row("", f"{energy['operation']:,.4g}", "pJ per operation")
        facts.add_row("toggles", f"{self.toggles:.3f}", f"per net and cycle, {self.nets:,} nets")
        if self.delays == "library":
            settled = f"mW without glitches, {self.settled_toggles:.3f} toggles"
            facts.add_row("", f"{self.total['settled']:,.4g}", settled)
            facts.add_row("glitches", f"{self.glitch_cycles:,}", "cycles, by the library's delays")
        else:
            facts.add_row("", "", "without delays, so without glitches")
        facts.add_row("stimuli", f"{self.cycles:,}", f"cycles: {self.stimuli}")
        tree = f"estimated, {self.clock_buffers:,} buffers, without wires"
        facts.add_row("clock tree", "", tree)
        if self.memory_bits:
            facts.add_row("memories", "", f"left out: {self.memory_bits:,} bits")
        console.print(facts)
        if self.check:
            console.print(self._check_table(self.check))
        headings = ("count", *COLUMNS, "total", "share", "no glitches")
        table = numbers_table("mW by module, without what is inside", "module", headings)
        for row in self.modules:
            figures = [f"{getattr(row, name):.4g}" for name in COLUMNS]
            share = f"{100 * row.total / total:.1f} %" if total else "-"
            rest = f"{row.total:.4g}", share, f"{row.settled:.4g}"
            table.add_row(row.module, f"{row.instances:,}", *figures, *rest)
        figures = [f"{self.total[name]:.4g}" for name in (*COLUMNS, "total")]
        table.add_section()
        table.add_row("all", "", *figures, "", f"{self.total['settled']:.4g}")
        console.print(table)

    def _check_table(self, check: PowerCheck) -> Any:
        names = ("internal", "switching", "leakage", "total")
        title = "mW without the clock's nets and glitches"
        table = numbers_table(title, "by", (*names, "difference"))
        for name, one in (
            ("OpenSTA", check.opensta),
            ("its assumptions, our tables", check.by_pins),
            ("states of cells, as below", check.by_states),
        ):
            figures = [f"{getattr(one, column):.5g}" for column in names]
            percent = 100 * (one.total / check.opensta.total - 1)
            allowed = f" (allowed: {CHECK_PERCENT:g} %)" if one is check.by_pins else ""
            said = "" if one is check.opensta else f"{percent:+.3f} %{allowed}"
            table.add_row(name, *figures, said)
        return table
