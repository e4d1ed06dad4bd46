"""Reports the runs of algorithms on a tensor unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...sim.tcu import TensorUnit
from ...sim.tcu.split.split_unit import SplitUnit
from ..common.agreement import Agreement
from ..common.limits import counted
from ..common.report import Report, Rows
from .hardware.calibration import hardware_figures, hardware_rows, mismatches
from .options import TcuChoice

__all__ = ["tcu_report"]


def tcu_report(
    app: str,
    title: str,
    rows: Rows,
    choice: TcuChoice,
    unit: TensorUnit,
    agreements: Sequence[Agreement],
    details: dict[str, Any],
) -> Report:
    """The report of an algorithm.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every algorithm has
    unit: on which it ran: its cost is reported
    agreements: results beside references
    details: what the algorithm adds to the JSON
    """
    return Report(
        app=app,
        title=title,
        json_file=choice.json_file,
        figures={
            **details, **_figures(choice, unit),
            "references": [agreement.to_json() for agreement in agreements],
        },
        rows=[*rows, *_rows(unit)],
        after=[("reference", agreement.verdict) for agreement in agreements],
        wrong=bool(mismatches(unit)) or any(agreement.wrong for agreement in agreements),
    )  # fmt: skip


def _figures(choice: TcuChoice, unit: TensorUnit) -> dict[str, Any]:
    cost = unit.cost
    return {
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
