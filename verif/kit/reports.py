"""Report of ``simulate``, as text and for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import (
    AcceleratorTimeout,
    AxiBehaviour,
    AxiRuleError,
    NativeAccelerator,
)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A mode's latency and initiation interval in cycles, as measured and as in the sidecar."""

    mode: str
    latency: int
    latency_promised: int
    interval: float
    interval_promised: int

    @property
    def complaint(self) -> str:
        """Difference from the sidecar's latency or interval; empty if there is none."""
        if (self.latency, self.interval) == (self.latency_promised, self.interval_promised):
            return ""
        return f"{self.mode}: latency or interval is not the sidecar's"


@dataclass(frozen=True)
class Case:
    """A part of a simulation that passes or fails by itself: a name, what was counted, and what is
    wrong, empty if nothing is."""

    name: str
    said: str
    complaint: str = ""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Result of a simulation.

    Parameters
    ----------
    unit, simulator, seed: what was run, and the seed that replays it
    operations: operations checked against the model, half of them with gaps and stalls
    cycles, cycles_promised: of the other half, back to back without stalls, measured and
        computed from the sidecar: the sum of the intervals and one latency. None: nothing is
        promised
    timings: by mode
    coverage: counts by (mode, feature)
    complaints: what is wrong, one line each; empty if all is well
    kinds: operations or jobs of each kind that were drawn at random
    failed: the kind of the first one that was wrong; empty if none was, or it is not known
    """

    drawn = "operations"

    unit: str
    simulator: str
    seed: int
    operations: int
    cycles: int
    cycles_promised: int | None = None
    timings: list[Timing] = field(default_factory=list)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    failed: str = ""

    @property
    def passed(self) -> bool:
        return not self.complaints

    @property
    def together(self) -> str:
        """Difference in the cycles of operations back to back; empty if there is none."""
        if self.cycles_promised in (None, self.cycles):
            return ""
        return f"back to back: {self.cycles} cycles, not {self.cycles_promised}"

    def timing_complaints(self) -> list[str]:
        """Differences in cycles, one line each."""
        return [one for one in [*(t.complaint for t in self.timings), self.together] if one]

    def cases(self) -> list[Case]:
        """Parts of the report: the run, with the complaints of no other part; the random draws of
        each kind; the cycles of operations back to back; each mode's latency and interval."""
        timed = [
            Case(
                f"timing of {t.mode}", f"latency {t.latency}, interval {t.interval:g}", t.complaint
            )
            for t in self.timings
        ]
        if self.cycles_promised is not None:
            said = f"{self.cycles} cycles, sidecar {self.cycles_promised}"
            timed.insert(0, Case("back to back", said, self.together))
        known = {case.complaint for case in timed}
        wrong = "; ".join(one for one in self.complaints if one not in known)
        drawn = [
            Case(f"{self.drawn}: {kind}", str(count), wrong if kind == self.failed else "")
            for kind, count in sorted(self.kinds.items())
        ]
        left = "" if self.failed in self.kinds else wrong
        return [Case(f"random {self.drawn}", self.lines()[0], left), *drawn, *timed]

    def lines(self) -> list[str]:
        """The report as text."""
        said = [
            f"{self.unit}: {'pass' if self.passed else 'FAIL'}, {self.operations} operations "
            f"compared bit for bit, half of them back to back, seed {self.seed}, {self.simulator}",
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
        table = Table(title="coverage: hits", title_justify="left")
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

    drawn = "jobs"

    jobs: int
    counted: str = "operations"

    def lines(self) -> list[str]:
        return [
            f"{self.unit}: {'pass' if self.passed else 'FAIL'}, {self.jobs} jobs with "
            f"{self.operations} {self.counted} in all, memory compared bit for bit, "
            f"{self.cycles} cycles, seed {self.seed}, {self.simulator}",
            *self.figures(),
            *(f"error: {complaint}" for complaint in self.complaints),
        ]

    def figures(self) -> list[str]:
        """Lines that a kind of accelerator adds."""
        return []

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"jobs": self.jobs, "counted": self.counted}


HANDSHAKES = ("aw_after_w", "w_after_aw", "ready_after_valid", "one_read")
"""Parameters of :class:`AxiBehaviour` that say for what a READY waits."""


def any_behaviour(rng: np.random.Generator, **fixed: Any) -> AxiBehaviour:
    """A memory that is quick or slow, stalls or not, in order or mixed, with or without a limit on
    its bandwidth, whose READY waits for any VALID that AXI lets it wait for; ``fixed`` are
    parameters of :class:`AxiBehaviour` that are not left to chance."""
    drawn: dict[str, Any] = {
        "seed": int(rng.integers(1 << 40)),
        "latency": (1, int(rng.choice([1, 10, 200]))),
        "stall": float(rng.choice([0, 0.3, 0.7])),
        "mixed": bool(rng.integers(2)),
        "beat_cycles": float(rng.choice([0, 0, 1, 2.5])),
        "register_stall": float(rng.choice([0, 0.5])),
        "register_order": str(rng.choice(["together", "address", "data"])),
        "write_latency": (1, 300) if rng.integers(3) == 0 else None,
        **{mode: bool(rng.integers(2)) for mode in HANDSHAKES},
    }
    return AxiBehaviour(**drawn | fixed)


@dataclass
class JobsUnderWay:
    """State that the jobs of a run share; ``number`` counts from 0, ``kind`` is the job's kind."""

    device: NativeAccelerator[Any]
    rng: np.random.Generator
    coverage: Counter[tuple[str, str]]
    number: int = 0
    kind: str = ""


def run_jobs(
    unit: Unit | str,
    config: Any,
    job: Callable[[JobsUnderWay], Iterator[tuple[int, int]]],
    *,
    counted: str,
    memory_bytes: int,
    seed: int,
    count: int,
    waves: Path | None,
) -> JobsReport:
    """Run ``count`` jobs, or as many as do what they must.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    job: a generator: sets a memory and a job up, notes its kind, checks it, yields operations and
        cycles, and notes what it covers; raises AssertionError for whatever is wrong
    counted: what its operations are
    memory_bytes: size of the memory
    seed, waves: of everything random; file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    complaints: list[str] = []
    operations = cycles = 0
    kinds: Counter[str] = Counter()
    with (
        NativeAccelerator(
            emit(unit, config), config, memory_bytes=memory_bytes, waves=waves
        ) as device,
        activity("simulating jobs", total=count) as shown,
    ):
        state = JobsUnderWay(device, np.random.default_rng(seed), Counter())
        while state.number < count and not complaints:
            state.kind = ""
            try:
                for done, took in job(state):
                    operations, cycles = operations + done, cycles + took
            except (AssertionError, AcceleratorTimeout, AxiRuleError) as error:
                complaints.append(" ".join(str(error).split()) or "a wrong result")
            state.number += 1
            kinds[state.kind] += 1
            shown.step(1)
    return JobsReport(
        unit=find_unit(unit).name,
        simulator="verilator",
        seed=seed,
        jobs=state.number,
        operations=operations,
        cycles=cycles,
        coverage=state.coverage,
        complaints=complaints,
        counted=counted,
        kinds=kinds,
        failed=state.kind if complaints else "",
    )
