"""What algorithms on a tensor unit print and write about their run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from ...report_table import print_rows
from ...reports import compiled_rows
from ...sim.tcu import TensorUnit
from ...sim.tcu.split.split_unit import SplitUnit
from ..common.files import write_json
from ..common.words import counted
from ..gta.agreement import Agreement
from .hardware.report import hardware_figures, hardware_rows, mismatches
from .options import TcuChoice

__all__ = ["finish_tcu"]

Rows = list[tuple[str, str]]


def finish_tcu(
    app: str,
    title: str,
    rows: Rows,
    choice: TcuChoice,
    unit: TensorUnit,
    agreements: Sequence[Agreement],
    details: dict[str, Any],
) -> None:
    """Print the report, write it as JSON if asked, and exit with 1 if anything was wrong.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every algorithm has
    unit: on which it ran: its cost is reported
    agreements: results beside references
    details: what the algorithm adds to the JSON
    """
    if choice.json_file:
        write_json(choice.json_file, _as_json(app, choice, unit, agreements, details))
    verdicts = [("reference", agreement.verdict) for agreement in agreements]
    print_rows(title, [*rows, *_rows(unit), *compiled_rows(), *verdicts])
    if mismatches(unit) or any(agreement.wrong for agreement in agreements):
        raise typer.Exit(1)


def _as_json(
    app: str,
    choice: TcuChoice,
    unit: TensorUnit,
    agreements: Sequence[Agreement],
    details: dict[str, Any],
) -> dict[str, Any]:
    cost = unit.cost
    return {
        "app": app,
        **details,
        "backend": choice.backend,
        "words": unit.words.name,
        "m": unit.m,
        "latency": unit.latency,
        "weak": unit.weak,
        "limbs": unit.limbs if isinstance(unit, SplitUnit) else None,
        "calls": cost.calls,
        "fused_calls": cost.fused_calls,
        "rows": cost.rows,
        "unit_time": unit.unit_time,
        "cpu_words": cost.cpu,
        "cpu": {
            "adds": cost.cpu_adds, "multiplies": cost.cpu_multiplies, "moves": cost.cpu_moves,
        },
        **hardware_figures(unit),
        "references": [agreement.to_json() for agreement in agreements],
    }  # fmt: skip


def _rows(unit: TensorUnit) -> Rows:
    cost, s = unit.cost, unit.s
    weak = ", weak" if unit.weak else ""
    others = "".join(f", of {o.words.name} {round(o.latency, 3):,}" for o in unit.units[1:])
    limbs = f", {counted(unit.limbs, 'limb')} a word" if isinstance(unit, SplitUnit) else ""
    return [
        ("unit", f"{unit.backend.name}, {unit.words.name}, blocks of {s} x {s} (m = {unit.m:,})"
                 f"{limbs}{weak}, latency {round(unit.latency, 3):,}{others}"),
        ("calls", f"{counted(cost.calls, 'call')} of {counted(cost.rows, 'row')} in all"),
        ("unit time", f"{round(unit.unit_time, 3):,} words: {cost.rows * s:,} streamed, "
                      f"{round(unit.unit_time - cost.rows * s, 3):,} of latency"),
        ("CPU", f"{cost.cpu:,} words: {cost.cpu_adds:,} added, {cost.cpu_multiplies:,} multiplied, "
                f"{cost.cpu_moves:,} moved"),
        *hardware_rows(unit),
    ]  # fmt: skip
