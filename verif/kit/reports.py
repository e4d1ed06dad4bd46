"""What ``simulate`` found: its report, as text and for machines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["JobsReport", "Report", "Timing"]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A mode's latency and initiation interval in cycles, as measured and as in the sidecar."""

    mode: str
    latency: int
    latency_promised: int
    interval: float
    interval_promised: int

    @property
    def kept(self) -> bool:
        return self.latency == self.latency_promised and self.interval == self.interval_promised


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a simulation found.

    Parameters
    ----------
    unit, simulator, seed: what was run, and the seed that replays it
    operations: operations checked against the model, with gaps and stalls
    cycles, cycles_promised: of as many operations back to back without stalls, measured and
        computed from the sidecar: the sum of the intervals and one latency. None: nothing is
        promised
    timings: by mode
    coverage: counts by (mode, feature)
    complaints: what is wrong, one line each; empty if all is well
    """

    unit: str
    simulator: str
    seed: int
    operations: int
    cycles: int
    cycles_promised: int | None = None
    timings: list[Timing] = field(default_factory=list)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.complaints

    def lines(self) -> list[str]:
        """The report as text."""
        said = [
            f"{self.unit}: {'pass' if self.passed else 'FAIL'}, {self.operations} operations "
            f"compared bit for bit, seed {self.seed}, {self.simulator}",
            f"back to back: {self.cycles} cycles, sidecar {self.cycles_promised}",
        ]
        said += [
            f"{t.mode}: latency {t.latency} (sidecar {t.latency_promised}), "
            f"interval {t.interval:g} (sidecar {t.interval_promised})"
            for t in self.timings
        ]
        return said + [f"error: {complaint}" for complaint in self.complaints]

    def print(self, console: Console) -> None:
        """Write the report to a Rich console, with how often each thing was met, by mode."""
        for line in self.lines():
            console.print(line, markup=False)
        modes = sorted({mode for mode, _ in self.coverage})
        table = Table(title="met so often", title_justify="left")
        table.add_column("")
        for mode in modes:
            table.add_column(mode, justify="right")
        for what in sorted({what for _, what in self.coverage}):
            counts = [self.coverage[mode, what] for mode in modes]
            table.add_row(what, *(str(count) if count else "" for count in counts))
        if modes:
            console.print(table)

    def as_json(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "unit": self.unit,
            "passed": self.passed,
            "simulator": self.simulator,
            "seed": self.seed,
            "operations": self.operations,
            "cycles": self.cycles,
            "cycles_promised": self.cycles_promised,
            "timings": [vars(timing) for timing in self.timings],
            "coverage": {f"{mode}: {what}": n for (mode, what), n in self.coverage.items()},
            "complaints": self.complaints,
        }


@dataclass(frozen=True, kw_only=True)
class JobsReport(Report):
    """A report of jobs, whose cycles depend on the memory: nothing is promised of them.

    Parameters
    ----------
    jobs: that were run
    counted: what ``operations`` counts
    """

    jobs: int
    counted: str = "operations"

    def lines(self) -> list[str]:
        return [
            f"{self.unit}: {'pass' if self.passed else 'FAIL'}, {self.jobs} jobs of "
            f"{self.operations} {self.counted}, all of memory compared bit for bit, "
            f"{self.cycles} cycles, seed {self.seed}, {self.simulator}",
            *self.figures(),
            *(f"error: {complaint}" for complaint in self.complaints),
        ]

    def figures(self) -> list[str]:
        """Lines that a kind of accelerator adds."""
        return []

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"jobs": self.jobs, "counted": self.counted}
