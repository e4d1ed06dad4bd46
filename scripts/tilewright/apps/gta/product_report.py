"""Reports the runs of the applications of GTA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from rich.table import Table

from ...hw.spec.gta import GtaConfig
from ...sim.gta.schedule.cost import PGemm
from ...sim.gta.schedule.evaluate import FilledChoice, filled_candidates
from ...sim.gta.schedule.explain import COLUMNS, explain, ranked, space
from ...sim.gta.tiles.choice import Choice, candidates
from ..common.agreement import Agreement
from ..common.limits import counted
from ..common.report import Report, Rows, accelerator_figures, checks
from ..common.units.gta import Asked, GtaChoice
from .choice import entries_of, write_schedule
from .products import GtaTally

__all__ = ["gta_report"]

_SHOWN = 3
"""Schedules, those of the products that take the most cycles."""
_LISTED = 100
"""Most entries that the JSON report lists."""


def gta_report(
    app: str,
    title: str,
    rows: Rows,
    choice: GtaChoice,
    tally: GtaTally,
    agreements: Sequence[Agreement],
    details: dict[str, Any],
) -> Report:
    """The report of a run.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every application has
    agreements: results beside references
    details: what the application adds to the JSON
    """
    if choice.save_schedule:
        largest = tally.by_cycles()[0]
        write_schedule(choice.save_schedule, largest, tally.chosen[largest].schedule)
        rows = [*rows, ("schedule", f"written to {choice.save_schedule}")]
    tables = []
    if choice.explain:
        choices = partial(_explained_choices, choice.config, choice.asked)
        tables.append((_explained if tally.schedules else choices)(tally))
    return Report(
        app=app,
        title=title,
        json_file=choice.json_file,
        figures={
            **accelerator_figures(choice, details, mode=choice.format), **_figures(tally),
            **choice.clock_figures(_cycles(tally)),
            "seconds": tally.seconds, **checks(tally),
            "references": [agreement.to_json() for agreement in agreements],
        },
        rows=[*rows, *_rows(choice, tally)],
        tally=tally,
        compared="results" if choice.backend == "rtl" else "",
        after=[("reference", agreement.verdict) for agreement in agreements],
        tables=tables,
        wrong=any(agreement.wrong for agreement in agreements),
    )  # fmt: skip


def _cycles(tally: GtaTally) -> int | None:
    """Cycles of whole jobs; where only the array is modelled, its own."""
    return tally.counts.get("cycles") or tally.cycles


def _figures(tally: GtaTally) -> dict[str, Any]:
    cost = tally.cost
    return {
        "pgemms": tally.pgemms,
        "multiplications": tally.multiplications,
        "limb_products": tally.limb_products,
        "cycles": tally.cycles,
        "port_cycles": cost.port_cycles if cost else None,
        "utilisation": tally.utilisation,
        "commands": cost.commands if cost else None,
        "accesses": asdict(cost.accesses) if cost else None,
        "bytes": asdict(cost.moved) if cost else None,
        "counters": dict(tally.counts) or None,
        "schedules": [
            {
                "m": problem.m, "n": problem.n, "k": problem.k, "accumulate": problem.accumulate,
                "count": tally.times[problem], "schedule": tally.chosen[problem].words,
                "coverage": tally.chosen[problem].coverage,
                "cycles": tally.chosen[problem].cycles,
                "file": entries_of(tally.chosen[problem].schedule),
            }
            for problem in tally.by_cycles()[:_LISTED]
        ],
    }  # fmt: skip


def _rows(choice: GtaChoice, tally: GtaTally) -> Rows:
    lanes = counted(choice.config.lanes, "lane")
    rows = [
        ("unit", f"gta of {lanes}, {choice.format}, {choice.ran_on}"),
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
    rows += _measured(tally) if tally.counts else []
    rows += choice.clock_rows(_cycles(tally) or 0)
    if tally.undriven:
        rows.append(("jobs", f"not counted: {tally.undriven}"))
    if tally.utilisation is not None:
        rows.append(("utilisation", f"{tally.utilisation:.2%} of the multiplications of limbs that "
                                    f"{lanes} can do"))  # fmt: skip
    return rows


def _modelled(tally: GtaTally) -> Rows:
    """Returns the rows of the cycle model's results."""
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
    """Returns the rows of the counters."""
    counts = tally.counts
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


_ESTIMATED = ("tiles", "cycles, estimated", "array's cycles", "accesses", "score")


def _explained_choices(config: GtaConfig, asked: Asked, tally: GtaTally) -> Table:
    """Tabulates the driver's estimates for the product that takes the most cycles, the chosen one
    first, and the score of the same schedule in the space of all schedules: 2 is the best possible.
    Filled schedules are included only on request; tiles are those of their full folds."""
    problem = tally.by_cycles()[0]
    table = Table(
        title=f"schedules of {problem.m:,} x {problem.n:,} x {problem.k:,} in {problem.format}: "
        "what the driver estimates",
        title_justify="left",
    )
    table.add_column("schedule", no_wrap=True)
    for name in _ESTIMATED:
        table.add_column(name, justify="right")
    known = {one.evaluated.schedule: one for one in ranked(space(config, _plain(problem)))}
    sizes = problem.m, problem.n, problem.k
    settings: dict[str, Any] = {
        "dataflow": asked.dataflow or "auto",
        "layout": asked.layout,
        "lateral": asked.lateral is not False,
    }
    found: list[Choice | FilledChoice] = []
    if not asked.filled:
        found += candidates(config, problem.format, sizes, segments=asked.segments, **settings)
    if asked.filled is not False and asked.segments in (None, 1):
        found += filled_candidates(config, problem.format, sizes, **settings)
    taken = tally.chosen[problem].schedule
    # Among schedules of about as many cycles the driver takes the one that loads least.
    for one in sorted(found, key=lambda one: (one.schedule != taken, one.cost)):
        tiling = one.tiling if isinstance(one, Choice) else one.full.tiling
        schedule = one.schedule
        cells = [f"{tiling.m}x{tiling.n}x{tiling.k}", f"{one.cycles:,}"]
        scored = known.get(schedule)
        if scored:
            cost = scored.evaluated.cost
            cells += [f"{cost.cycles:,}", f"{cost.accesses.total:,}", f"{scored.score:.4g}"]
        table.add_row(schedule.words, *cells)
    return table


def _plain(problem: PGemm) -> PGemm:
    """Returns the problem without C, whose cost is the same for all schedules."""
    return PGemm(m=problem.m, n=problem.n, k=problem.k, format=problem.format)
