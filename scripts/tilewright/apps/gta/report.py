"""What the applications of GTA print and write about their run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer
from rich.table import Table

from ...report_table import print_figures, print_rows
from ...reports import compiled_rows
from ...sim.gta.schedule.explain import COLUMNS, explain
from ..common.files import write_json
from ..common.words import counted
from .agreement import Agreement
from .options import GtaChoice
from .schedule.candidates import explained_choices
from .schedule.file import entries_of, write_schedule
from .tally import GtaTally

__all__ = ["finish_gta"]

Rows = list[tuple[str, str]]

_SHOWN = 3
"""Schedules, those of the products that take the most cycles."""
_LISTED = 100
"""In the JSON report."""


def finish_gta(
    app: str,
    title: str,
    rows: Rows,
    choice: GtaChoice,
    tally: GtaTally,
    agreements: Sequence[Agreement],
    details: dict[str, Any],
) -> None:
    """Print the report, write it as JSON if asked, and exit with 1 if anything was wrong.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every application has
    agreements: results beside references
    details: what the application adds to the JSON
    """
    if choice.json_file:
        write_json(choice.json_file, _as_json(app, choice, tally, agreements, details))
    if choice.save_schedule:
        largest = tally.by_cycles()[0]
        write_schedule(choice.save_schedule, largest, tally.chosen[largest].schedule)
        rows = [*rows, ("schedule", f"written to {choice.save_schedule}")]
    verdicts = [("reference", agreement.verdict) for agreement in agreements]
    console = print_rows(title, [*rows, *_rows(choice, tally), *verdicts])
    if choice.explain:
        explained = (
            _explained(tally)
            if tally.schedules
            else explained_choices(choice.config, choice.asked, tally)
        )
        print_figures(console, explained)
    if tally.mismatches or any(agreement.wrong for agreement in agreements):
        raise typer.Exit(1)


def _as_json(
    app: str,
    choice: GtaChoice,
    tally: GtaTally,
    agreements: Sequence[Agreement],
    details: dict[str, Any],
) -> dict[str, Any]:
    cost = tally.cost
    return {
        "app": app,
        **details,
        "unit": "gta",
        "config": choice.config.resolved(),
        "mode": choice.format,
        "backend": choice.backend,
        "pgemms": tally.pgemms,
        "multiplications": tally.multiplications,
        "limb_products": tally.limb_products,
        "cycles": tally.cycles,
        "port_cycles": cost.port_cycles if cost else None,
        "utilisation": tally.utilisation,
        "commands": cost.commands if cost else None,
        "accesses": asdict(cost.accesses) if cost else None,
        "bytes": asdict(cost.moved) if cost else None,
        "counters": dict(tally.counters) or None,
        "schedules": [
            {
                "m": problem.m, "n": problem.n, "k": problem.k, "accumulate": problem.accumulate,
                "count": tally.counts[problem], "schedule": tally.chosen[problem].words,
                "coverage": tally.chosen[problem].coverage,
                "cycles": tally.chosen[problem].cycles,
                "file": entries_of(tally.chosen[problem].schedule),
            }
            for problem in tally.by_cycles()[:_LISTED]
        ],
        "seconds": tally.seconds,
        "checked": tally.checked,
        "mismatches": tally.mismatches,
        "references": [agreement.to_json() for agreement in agreements],
    }  # fmt: skip


def _rows(choice: GtaChoice, tally: GtaTally) -> Rows:
    lanes = counted(choice.config.lanes, "lane")
    rows = [
        ("unit", f"gta of {lanes}, {choice.format}, {choice.backend}"),
        ("p-GEMMs", f"{tally.pgemms:,}: {tally.multiplications:,} multiplications, "
                    f"{tally.limb_products:,} of limbs"),
    ]  # fmt: skip
    order = tally.by_cycles()
    for problem in order[:_SHOWN]:
        chosen = tally.chosen[problem]
        covers = f" ({chosen.coverage})" if chosen.coverage else ""
        rows.append(("schedule", f"{problem.m:,} x {problem.n:,} x {problem.k:,}: {chosen.words}"
                                 f"{covers}, {chosen.cycles:,} cycles"))  # fmt: skip
    if len(order) > _SHOWN:
        rows.append(("", f"and {len(order) - _SHOWN:,} more"))
    rows += _modelled(tally) if tally.schedules else []
    rows += _measured(tally) if tally.counters else []
    if tally.undriven:
        rows.append(("jobs", f"not counted: {tally.undriven}"))
    if tally.utilisation is not None:
        rows.append(("utilisation", f"{tally.utilisation:.2%} of the multiplications of limbs that "
                                    f"{lanes} can do"))  # fmt: skip
    rows += [*compiled_rows(), ("simulation", f"{tally.seconds:.2f} s")]
    if choice.backend == "rtl":
        verdict = "bit for bit equal" if not tally.mismatches else "DIFFERENT"
        rows.append(("against the model", f"{tally.mismatches:,} mismatches in {tally.checked:,} "
                                          f"results: {verdict}"))  # fmt: skip
    return rows


def _modelled(tally: GtaTally) -> Rows:
    """By the model of cycles."""
    cost = tally.cost
    assert cost is not None
    accesses, moved = cost.accesses, cost.moved
    return [
        ("cycles", f"{cost.cycles:,} of the array, operands on chip in time; "
                   f"{cost.port_cycles:,} of the busier memory port"),
        ("accesses", f"{accesses.total:,} elements in the lanes' memories: A {accesses.a:,}, "
                     f"B {accesses.b:,}, sums {accesses.sums_read:,} read and "
                     f"{accesses.sums_written:,} written"),
        ("bytes", f"{moved.read:,} read, {moved.sums_written:,} written"),
    ]  # fmt: skip


def _measured(tally: GtaTally) -> Rows:
    """By counters."""
    counts = tally.counters
    waits = ", ".join(f"{name} {counts[f'wait_{name}']:,}" for name in ("list", "loads", "stores"))
    # The schedules' own cycles and bytes are above these.
    ours = "jobs" if tally.schedules else ""
    return [
        (ours or "cycles", f"{counts['cycles']:,} of jobs, {counts['busy_cycles']:,} with the "
                           f"array at work; waited for {waits}"),
        (f"{ours} bytes".strip(), f"{counts['bytes_read']:,} read, {counts['bytes_list']:,} of "
                                  f"them of lists; {counts['bytes_written']:,} written"),
    ]  # fmt: skip


def _explained(tally: GtaTally) -> Table:
    """The schedules of the product that takes the most cycles."""
    problem = tally.by_cycles()[0]
    table = Table(
        title=f"schedules of {problem.m:,} x {problem.n:,} x {problem.k:,} in {problem.format}, "
        "figures from cycles to bytes in thousands",
        title_justify="left",
    )
    table.add_column("schedule", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for line in explain(tally.schedules[problem]):
        table.add_row(line.label, *(f"{figure:,.4g}" for figure in line.figures))
    return table
