"""What the commands of iterations print and write about their run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import typer

from ...report_table import print_rows
from ...reports import compiled_rows
from ...sim.sida.held import Held
from ...sim.sida.references import Spent
from ...sim.sida.result.products import Columns
from ..common.files import write_json
from ..common.words import counted
from .options import SidaChoice
from .verdict import Verdict

__all__ = ["Outcome", "Residual", "Rows", "finish_iterations"]

Rows = list[tuple[str, str]]

_STREAMS = ("pointers", "rows", "values", "again", "vectors", "program")
"""Of what is read, as the counters call them."""


@dataclass(frozen=True, kw_only=True)
class Residual:
    """What the last iteration left of what ends the computation.

    Parameters
    ----------
    what: in words
    value, limit: it ends when the value is below
    """

    what: str
    value: float
    limit: float


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run did.

    Parameters
    ----------
    matrix: what it went over, with products of ``semiring``
    waits: of its elements; of the matrix of which most wait, if jobs go over several; None: there
        is no second product
    iterations, wasted: that count, and that do not
    passes: over the matrix, in so many ``jobs``
    settled: whether it has converged
    counts: of all jobs
    limits: what ideal accelerators would take
    checked, mismatches: compared with the model, and those that differ
    seconds: of the accelerator
    """

    matrix: Columns
    waits: Held | None
    semiring: str
    iterations: int
    wasted: int
    passes: int
    jobs: int
    settled: bool
    counts: Mapping[str, int]
    limits: Mapping[str, Spent]
    checked: int
    mismatches: int
    seconds: float


def finish_iterations(
    app: str,
    title: str,
    rows: Rows,
    choice: SidaChoice,
    outcome: Outcome,
    details: dict[str, Any],
    *,
    verdict: Verdict | None,
    residual: Residual | None,
    steps: str = "iterations",
) -> None:
    """Print the report, write it as JSON if asked, and exit with 1 if anything was wrong, or the
    computation has not converged.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every application has
    details: what the application adds to the JSON
    verdict: None: nothing to compare with, since it has not converged
    residual: None: the computation need not converge
    steps: what its iterations are called
    """
    matrix = outcome.matrix
    failed = residual is not None and not outcome.settled
    waits = outcome.waits
    if choice.json_file:
        write_json(choice.json_file, {
            "app": app, **details, "elements": len(matrix.rows), "iterations": outcome.iterations,
            "passes": outcome.passes, "jobs": outcome.jobs, "wasted": outcome.wasted,
            "settled": outcome.settled,
            "residual": None if residual is None else {
                "what": residual.what, "value": _finite(residual.value), "limit": residual.limit,
            },
            "reference": None if verdict is None else {
                "source": verdict.source, "measure": verdict.measure,
                "error": _finite(verdict.error), "allowed": verdict.allowed,
                "wrong": verdict.wrong,
            },
            "held": waits and {"most": waits.peak, "mean": waits.mean},
            "limits": {name: {"bytes": spent.bytes, "cycles": spent.cycles}
                       for name, spent in outcome.limits.items()},
            "unit": choice.unit, "config": choice.config.resolved(),
            "sizes": {one.name: {"value": one.value, "for": one.why} for one in choice.sizes},
            "backend": choice.backend,
            **_timing(choice),
            "counters": dict(outcome.counts), "checked": outcome.checked,
            "mismatches": outcome.mismatches, "seconds": outcome.seconds,
        })  # fmt: skip
    passes = counted(outcome.passes, "pass", "passes")
    jobs = f", {outcome.jobs:,} jobs" if outcome.jobs > 1 else ""
    wasted = f"; {outcome.wasted} more wasted" if outcome.wasted else ""
    every = [*rows, (steps, f"{outcome.iterations:,} in {passes}{jobs}{wasted}")]
    if residual is not None:
        ends = "NOT CONVERGED: " if failed else ""
        limit = f"below {residual.limit:.4g}" if residual.limit else "at 0"
        found = f"{residual.what} {residual.value:.4g}"
        every.append(("residual", f"{ends}{found}; it ends {limit}"))
    every.append(("reference", verdict.in_words() if verdict else "not compared"))
    every += _unit_rows(choice, outcome, waits.peak if waits else 0)
    print_rows(title, every)
    if failed or outcome.mismatches or (verdict is not None and verdict.wrong):
        raise typer.Exit(1)


def _timing(choice: SidaChoice) -> dict[str, Any]:
    """What the cycle model was told."""
    if choice.backend != "cycles":
        return {}
    return {"memory": choice.memory.name, "gigahertz": choice.gigahertz}


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _unit_rows(choice: SidaChoice, outcome: Outcome, waits: int) -> Rows:
    config, counts = choice.config, outcome.counts
    size, elements = outcome.matrix.size, len(outcome.matrix.rows)
    late = int(outcome.matrix.late(config.subtensor).sum())
    stored = 2 * (size + 1) * 4 + (elements + late) * (4 + config.format.bits // 8)
    rows = [
        ("unit", f"{choice.unit}, {config.pes} elements a cycle, steps of {config.subtensor} "
                 f"columns; {config.channels} channels of {config.data_bits} bits"),
        *(one.row for one in choice.sizes),
        ("operation", f"{outcome.semiring} in {config.value}, {choice.backend}"),
        ("in memory", f"{elements:,} elements by columns, {late:,} late ones by rows; "
                      f"{stored:,} bytes"),
        ("elements", f"{counts['elements']:,} read, {counts['operations']:,} operations"),
        ("waiting", f"{waits:,} elements at most, capacity {config.buffer_words:,}"),
    ]  # fmt: skip
    if counts["cycles"]:
        rows += _timed_rows(choice, outcome)
    written = f"{counts['bytes_written']:,}"
    if choice.config.windowed and counts["cycles"]:
        written += f": windows {counts['bytes_windows_written']:,}"
    rows.append(("bytes written", written))
    rows += [*compiled_rows(), ("simulation", f"{outcome.seconds:.2f} s")]
    if choice.backend == "rtl":
        verdict = "DIFFERENT" if outcome.mismatches else "bit for bit equal"
        compared = f"{outcome.mismatches:,} mismatches in {outcome.checked:,} values and counters"
        rows.append(("against the model", f"{compared}: {verdict}"))
    return rows


def _timed_rows(choice: SidaChoice, outcome: Outcome) -> Rows:
    counts, cycles = outcome.counts, outcome.counts["cycles"]
    parts = [f"{name} {counts[f'bytes_{name}']:,}" for name in _STREAMS]
    if choice.config.windowed:
        parts.append(f"windows {counts['bytes_windows_read']:,}")
    streams = ", ".join(parts)
    over = ", ".join(
        f"{name} {spent.cycles:,.0f} ({spent.cycles / cycles:.2f} x)"
        for name, spent in outcome.limits.items()
    )
    timed = []
    if choice.backend == "cycles":
        seconds = cycles / choice.gigahertz * 1e-9
        moved = (counts["bytes_read"] + counts["bytes_written"]) / seconds
        timed = [("time", f"{seconds * 1e3:,.4g} ms at {choice.gigahertz:g} GHz on "
                          f"{choice.memory.name}: {counts['operations'] / seconds * 1e-9:,.4g} "
                          f"GOP/s, {moved * 1e-9:,.4g} GB/s")]  # fmt: skip
    return [
        *timed,
        ("cycles", f"{cycles:,}; {counts['busy_cycles']:,} with elements for the first product, "
                   f"{counts['stalls']:,} without between the first and the last"),
        ("bytes read", f"{counts['bytes_read']:,}: {streams}"),
        ("resident", f"{counts['held']:,} elements on chip at most; {counts['lost']:,} panels of "
                     "rows evicted and refetched"),
        ("limits", f"cycles of ideal accelerators: {over}"),
    ]  # fmt: skip
