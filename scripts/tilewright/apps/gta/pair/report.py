"""What ``tilewright run pair`` prints and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ....hw.spec.gta import GtaConfig
from ....report_table import print_rows
from ....reports import compiled_rows
from ...common.words import counted
from ..agreement import Agreement

__all__ = ["PairCycles", "PairReport", "print_pair"]


@dataclass(frozen=True, kw_only=True)
class PairCycles:
    """Cycles of whole jobs, on the RTL or by the model of cycles.

    Parameters
    ----------
    together: of both at the same time
    alone: of each on all lanes
    in_turn: of each on the lanes that it has together with the other, which are idle
    """

    together: int
    alone: list[int]
    in_turn: list[int]


@dataclass(frozen=True, kw_only=True)
class PairReport:
    """A run.

    Parameters
    ----------
    config, backend: of the accelerator
    jobs: what was multiplied, and how it was laid out
    cycles, counters: of whole jobs, the latter's of both at the same time; of the model of results
        None
    seconds: of the wall clock
    checked, mismatches: results beside the golden model's, of all runs
    agreements: of each job with NumPy
    """

    config: GtaConfig
    backend: str
    jobs: list[dict[str, Any]]
    cycles: PairCycles | None
    counters: dict[str, int] | None
    seconds: float
    checked: int
    mismatches: int
    agreements: Sequence[Agreement]

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        cycles = self.cycles
        return {
            "app": "pair",
            "unit": "gta",
            "config": self.config.resolved(),
            "mode": [job["mode"] for job in self.jobs],
            "backend": self.backend,
            "jobs": self.jobs,
            "cycles": cycles.together if cycles else None,
            "alone": cycles.alone if cycles else None,
            "in_turn": cycles.in_turn if cycles else None,
            "counters": self.counters,
            "seconds": self.seconds,
            "checked": self.checked,
            "mismatches": self.mismatches,
            "references": [asdict(agreement) for agreement in self.agreements],
        }


def print_pair(report: PairReport) -> None:
    """A table."""
    rows = [("unit", f"gta of {counted(report.config.lanes, 'lane')}, {report.backend}")]
    for number, job in enumerate(report.jobs, 1):
        shape = " x ".join(f"{size:,}" for size in job["shape"])
        tiles = " x ".join(map(str, job["tiles"]))
        lanes = "+".join(map(str, job["lanes"]))
        rows.append((f"job {number}", f"{job['a']} x {job['b']}, {shape} in {job['mode']}: lanes "
                                      f"{lanes} ({job['region']}), {job['dataflow']}, tiles of "
                                      f"{tiles}"))  # fmt: skip
        if job["result"]:
            rows.append(("result", job["result"]))
    if report.cycles:
        cycles = report.cycles
        rows += [
            ("cycles", f"{cycles.together:,} of both at the same time"),
            ("alone", _behind(cycles.alone, cycles.together, "each on all lanes")),
            (
                "in turn",
                _behind(cycles.in_turn, cycles.together, "each on the same lanes as above"),
            ),
        ]
    rows += [*compiled_rows(), ("simulation", f"{report.seconds:.2f} s")]
    if report.checked:
        verdict = "bit for bit equal" if not report.mismatches else "DIFFERENT"
        rows.append(("against the model", f"{report.mismatches:,} mismatches in {report.checked:,} "
                                          f"results: {verdict}"))  # fmt: skip
    rows += [("reference", agreement.verdict) for agreement in report.agreements]
    print_rows("pair", rows)


def _behind(each: Sequence[int], together: int, how: str) -> str:
    total = sum(each)
    return (f"{each[0]:,} and {each[1]:,}, {how}, one after the other: {total:,}, "
            f"{total / max(1, together):.2f} times as many")  # fmt: skip
