"""What the commands of iterations print and write about their run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from ...sim.sida.held import held
from ...sim.sida.iterations.problem import Problem
from ...sim.sida.references import Demand, Machine, Spent, fused, ideal, oracle
from ..common.files import write_json
from .options import SidaChoice
from .session import SidaRun
from .verdict import Verdict

__all__ = ["Residual", "finish_iterations"]

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


def finish_iterations(
    app: str,
    title: str,
    rows: Rows,
    choice: SidaChoice,
    problem: Problem,
    run: SidaRun,
    details: dict[str, Any],
    *,
    verdict: Verdict | None,
    residual: Residual | None,
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
    """
    solution, matrix = run.solution, problem.matrix
    failed = residual is not None and not solution.settled
    # With the transpose an element waits for z of its column.
    waits_for = matrix.columns if problem.transposed else matrix.rows
    waits = held(waits_for, matrix.columns, matrix.size, choice.config.subtensor)
    limits = _limits(choice, problem, solution.iterations)
    if choice.json_file:
        write_json(choice.json_file, {
            "app": app, **details, "elements": len(matrix.rows), "iterations": solution.iterations,
            "passes": solution.passes, "wasted": solution.wasted, "settled": solution.settled,
            "residual": None if residual is None else {
                "what": residual.what, "value": _finite(residual.value), "limit": residual.limit,
            },
            "reference": None if verdict is None else {
                "source": verdict.source, "measure": verdict.measure,
                "error": _finite(verdict.error), "allowed": verdict.allowed,
                "wrong": verdict.wrong,
            },
            "held": {"most": waits.peak, "mean": waits.mean},
            "limits": {name: {"bytes": spent.bytes, "cycles": spent.cycles}
                       for name, spent in limits.items()},
            "unit": choice.unit, "config": choice.config.resolved(), "backend": choice.backend,
            **_timing(choice),
            "counters": dict(run.counts), "checked": run.checked, "mismatches": run.mismatches,
            "seconds": run.seconds,
        })  # fmt: skip
    table = Table(title=title, show_header=False, title_justify="left", title_style="bold")
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    wasted = f", {solution.wasted} of them wasted" if solution.wasted else ""
    every = [
        *rows,
        ("iterations", f"{solution.iterations:,} in {solution.passes:,} passes{wasted}"),
    ]
    if residual is not None:
        ends = "NOT CONVERGED: " if failed else ""
        every.append(("residual", f"{ends}{residual.what} {residual.value:.4g}; it ends below "
                                  f"{residual.limit:.4g}"))  # fmt: skip
    every.append(("reference", verdict.in_words() if verdict else "not compared"))
    every += _unit_rows(choice, problem, run, waits.peak, limits)
    for label, text in every:
        table.add_row(label, text)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    console.print(table)
    if failed or run.mismatches or (verdict is not None and verdict.wrong):
        raise typer.Exit(1)


def _timing(choice: SidaChoice) -> dict[str, Any]:
    """What the cycle model was told."""
    if choice.backend != "cycles":
        return {}
    return {"memory": choice.memory.name, "gigahertz": choice.gigahertz}


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _limits(choice: SidaChoice, problem: Problem, iterations: int) -> dict[str, Spent]:
    """What accelerators that are ideal would take, with this one's memory and lanes."""
    config = choice.config
    width = config.channels * config.geometry.beat_bytes
    machine = Machine(bytes_a_cycle=width, lanes=config.pes)
    demand = Demand(
        size=problem.matrix.size,
        elements=len(problem.matrix.rows),
        iterations=iterations,
        program=problem.program,
        value_bytes=config.format.bits // 8,
    )
    return {
        "ideal": ideal(machine, demand),
        "fused": fused(machine, demand),
        "oracle": oracle(machine, demand),
    }


def _unit_rows(
    choice: SidaChoice, problem: Problem, run: SidaRun, waits: int, limits: Mapping[str, Spent]
) -> Rows:
    config, counts = choice.config, run.counts
    size = problem.matrix.size
    stored = 2 * (size + 1) * 4 + 2 * len(problem.matrix.rows) * (4 + config.format.bits // 8)
    rows = [
        ("unit", f"{choice.unit}, {config.pes} elements a cycle, steps of {config.subtensor} "
                 f"columns; {config.channels} channels of {config.data_bits} bits"),
        ("operation", f"{problem.semiring.name} in {config.value}, {choice.backend}"),
        ("matrix", f"{len(problem.matrix.rows):,} elements; {stored:,} bytes by columns and by "
                   "rows"),
        ("elements", f"{counts['elements']:,} read, {counts['operations']:,} operations"),
        ("waiting", f"{waits:,} elements at most, of {config.buffer_words:,} that may"),
    ]  # fmt: skip
    if counts["cycles"]:
        rows += _timed_rows(choice, run, limits)
    rows.append(("bytes written", f"{counts['bytes_written']:,}"))
    rows.append(("simulation", f"{run.seconds:.2f} s"))
    if choice.backend == "rtl":
        verdict = "DIFFERENT" if run.mismatches else "bit for bit equal"
        rows.append(("against the model", f"{run.mismatches:,} mismatches in {run.checked:,} "
                                          f"values and counters: {verdict}"))  # fmt: skip
    return rows


def _timed_rows(choice: SidaChoice, run: SidaRun, limits: Mapping[str, Spent]) -> Rows:
    counts, cycles = run.counts, run.counts["cycles"]
    streams = ", ".join(f"{name} {counts[f'bytes_{name}']:,}" for name in _STREAMS)
    over = ", ".join(
        f"{name} {spent.cycles:,.0f} ({spent.cycles / cycles:.2f} x)"
        for name, spent in limits.items()
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
        ("held", f"{counts['held']:,} elements on chip at most; {counts['lost']:,} panels of rows "
                 "were given up and read again"),
        ("limits", f"cycles of ideal accelerators: {over}"),
    ]  # fmt: skip
