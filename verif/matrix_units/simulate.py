"""Simulates a unit on random operations and says whether it does what its sidecar promises."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.config import Config
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.streams import pack
from tilewright.sim.units.any_unit import mixed_operations
from tilewright.verif.bench.stream_job import JobResult, StreamBuild
from tilewright.verif.matrix_units.coverage import matrix_coverage
from tilewright.verif.matrix_units.matrix_stimuli import AnyMatrixUnit, Operations, operations

__all__ = [
    "JobsReport",
    "Report",
    "Timing",
    "elapsed",
    "expected_cycles",
    "matrix_job",
    "run",
    "run_icarus",
]

GAP, STALL, ILLEGAL = 0.25, 0.45, 0.1
_TIMED = 16


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


def run(
    unit: Unit | str,
    config: Config,
    *,
    simulator: str = "verilator",
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> Report:
    """Simulate a matrix unit under cocotb and check results, stream rules, latency and interval.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    simulator: "verilator" or "icarus"
    seed: of operands, gaps and stalls
    count: operations of mixed modes, once with gaps and stalls and once back to back
    waves: file for the waves of the run with stalls

    Raises ToolMissing if the simulator or compiler is not installed, BuildError if it fails,
    ValueError for a unit that is no matrix unit.
    """
    if not isinstance(config, AnyMatrixUnit):
        raise ValueError("only matrix units are simulated on random operations")
    emitted = emit(unit, config)
    build = StreamBuild(emitted, simulator=simulator, waves=waves is not None)
    sent = operations(config, count, seed, illegal=ILLEGAL)
    stalled = matrix_job(build, emitted, config, sent, seed=seed, gap=GAP, stall=STALL, waves=waves)
    complaints = [text for text in [stalled.complaint()] if text]
    legal = operations(config, count, seed + 1, illegal=0)
    free = matrix_job(build, emitted, config, legal, seed=seed)
    complaints += [f"back to back: {text}" for text in [free.complaint()] if text]
    timings = _timings(build, emitted, config, seed)
    complaints += [f"{t.mode}: latency or interval is not the sidecar's" for t in timings
                   if not t.kept]  # fmt: skip
    cycles, promised = elapsed(free), expected_cycles(emitted.sidecar, legal.op)
    if cycles != promised:
        complaints.append(f"back to back: {cycles} cycles, not {promised}")
    coverage: Counter[tuple[str, str]] = Counter()
    if not stalled.timed_out:
        d, _ = mixed_operations(config, **sent.fields)
        waited = stalled.streams["i"].waited, stalled.streams["o"].waited
        coverage = matrix_coverage(config, sent, d, *waited)
    return Report(
        unit=find_unit(unit).name,
        simulator=simulator,
        seed=seed,
        operations=stalled.checked + free.checked,
        cycles=cycles,
        cycles_promised=promised,
        timings=timings,
        coverage=coverage,
        complaints=complaints,
    )


run_icarus = partial(run, simulator="icarus")


def matrix_job(
    build: StreamBuild,
    emitted: Emitted,
    config: AnyMatrixUnit,
    sent: Operations,
    *,
    seed: int = 0,
    gap: float = 0.0,
    stall: float = 0.0,
    waves: Path | None = None,
) -> JobResult:
    """Send operations through a built matrix unit and compare with the golden model."""
    streams = {stream["name"]: stream for stream in emitted.sidecar["streams"]}
    d, error = mixed_operations(config, **sent.fields)
    inputs = {"i": pack(sent.fields, streams["i"])}
    expected = {"o": pack({"d": d, "error": error.astype(np.uint8)}, streams["o"])}
    return build.run(inputs, expected, seed=seed, gap=gap, stall=stall, waves=waves)


def elapsed(result: JobResult) -> int:
    """Clock edges from the first input transfer to the last output transfer; -1 if none."""
    first, last = result.streams["i"].transfers, result.streams["o"].transfers
    return int(last[-1] - first[0]) if len(first) and len(last) else -1


def expected_cycles(sidecar: dict[str, Any], op: npt.NDArray[np.uint64]) -> int:
    """Sum of the intervals of all operations but the last, and the latency of the last."""
    name_of = {code: mode for mode, code in sidecar["opcodes"].items()}
    modes = [name_of[int(code)] for code in op]
    before = sum(sidecar["initiation_interval"][mode] for mode in modes[:-1])
    return int(before + sidecar["latency"][modes[-1]])


def _timings(
    build: StreamBuild, emitted: Emitted, config: AnyMatrixUnit, seed: int
) -> list[Timing]:
    """A few operations of each mode on their own."""
    timings = []
    for mode in emitted.sidecar["opcodes"]:
        sent = operations(config, _TIMED, seed, modes=(mode,), illegal=0)
        streams = matrix_job(build, emitted, config, sent).streams
        taken, left = streams["i"].transfers, streams["o"].transfers
        complete = len(left) == _TIMED
        timings.append(
            Timing(
                mode=mode,
                latency=int(left[0] - taken[0]) if complete else -1,
                latency_promised=emitted.sidecar["latency"][mode],
                interval=float(left[-1] - left[0]) / (_TIMED - 1) if complete else -1.0,
                interval_promised=emitted.sidecar["initiation_interval"][mode],
            )
        )
    return timings
