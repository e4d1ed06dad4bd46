"""What the sparse applications print and write about their run."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from ..common.files import write_json
from .options import SparseChoice
from .session import SparseTally

__all__ = ["finish_sparse"]

Rows = list[tuple[str, str]]


def finish_sparse(
    app: str, title: str, rows: Rows, choice: SparseChoice, tally: SparseTally,
    details: dict[str, Any], *, wrong: bool,
) -> None:  # fmt: skip
    """Print the report, write it as JSON if asked, and exit with 1 if anything was wrong.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every application has
    details: what the application adds to the JSON
    wrong: whether the application found its result wrong
    """
    figures = _figures(choice, tally)
    if choice.json_file:
        write_json(choice.json_file, {
            "app": app, **details, "unit": choice.unit, "config": choice.config.resolved(),
            "backend": choice.backend, "memory": choice.memory.name,
            "gigahertz": choice.gigahertz, "multiplications": tally.products,
            "jobs": tally.jobs, "overflows": tally.overflows, "counters": tally.counts,
            **figures, "checked": tally.checked, "mismatches": tally.mismatches,
            "seconds": tally.seconds,
        })  # fmt: skip
    table = Table(title=title, show_header=False, title_justify="left", title_style="bold")
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for label, text in [*rows, *_rows(choice, tally, figures)]:
        table.add_row(label, text)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    console.print(table)
    if wrong or tally.mismatches:
        raise typer.Exit(1)


def _figures(choice: SparseChoice, tally: SparseTally) -> dict[str, Any]:
    """Derived figures; None where the backend does not count cycles."""
    counts, config = tally.counts, choice.config
    cycles = counts.get("cycles", 0)
    mean = counts.get("operations", 0) / config.lanes
    known = {
        "load_imbalance": counts["lane_busy_max"] / mean if mean else None,
        "microseconds": None, "gop_s": None, "roofline_gop_s": None,
        "operations_per_byte": None, "bandwidth_gb_s": None, "bandwidth_utilisation": None,
        "multiplier_utilisation": None, "bound_cycles": None, "bound_cycles_b_once": None,
        "ratio_to_bound": None,
    }  # fmt: skip
    if not cycles or not tally.bounds:
        return known
    peak = tally.bounds[0].bytes_per_cycle
    moved = counts["bytes_read"] + counts["bytes_written"]
    limit = tally.bound_cycles
    # A multiplication and an addition each.
    intensity = 2 * counts["operations"] / moved if moved else 0.0
    roof = min(2.0 * config.lanes, intensity * peak) * choice.gigahertz
    return known | {
        "microseconds": cycles / choice.gigahertz / 1000,
        "gop_s": 2 * counts["operations"] / cycles * choice.gigahertz,
        "roofline_gop_s": roof,
        "operations_per_byte": intensity,
        "bandwidth_gb_s": moved / cycles * choice.gigahertz,
        "bandwidth_utilisation": sum(b.bytes_per_use for b in tally.bounds) / (cycles * peak),
        "multiplier_utilisation": counts["operations"] / (cycles * config.lanes),
        "bound_cycles": limit,
        "bound_cycles_b_once": sum(b.cycles_once for b in tally.bounds),
        "ratio_to_bound": cycles / limit if limit else None,
    }


def _rows(choice: SparseChoice, tally: SparseTally, figures: dict[str, Any]) -> Rows:
    counts, config = tally.counts, choice.config
    shape = f"{config.lanes} lanes, {config.channels} channels of {config.data_bits} bits"
    memory = "" if choice.backend == "model" else f", memory {choice.memory.name}"
    outer = choice.mode == "outer"
    how = " by outer products" if outer else ""
    jobs = "a tile of C each" if outer else (
        f"{tally.overflows:,} ended with an overflow and were split"
    )  # fmt: skip
    merged = "" if outer else f"; merge steps {counts.get('merge_steps', 0):,}"
    rows = [
        ("unit", f"{choice.unit}, {shape}, {config.queues} queues of {config.queue_depth}"),
        ("operation", f"{config.semiring} in {config.value}{how}, {choice.backend}{memory}"),
        ("jobs", f"{tally.jobs:,} ({jobs})"),
        ("products", f"{counts.get('operations', 0):,}{merged}; entries written "
                     f"{counts.get('results', 0):,}"),
    ]  # fmt: skip
    if figures["load_imbalance"]:
        rows.append(("load imbalance", f"{figures['load_imbalance']:.3f} (busiest lane / mean)"))
    if figures["microseconds"] is not None:
        rows.append(_cycles_row(choice, counts, figures))
    if counts.get("bytes_read"):
        rows += _byte_rows(counts)
    if figures["microseconds"] is not None:
        rows += _timed_rows(choice, counts, figures)
    rows.append(("simulation", f"{tally.seconds:.2f} s"))
    if choice.backend == "rtl":
        verdict = "bit for bit equal" if not tally.mismatches else "DIFFERENT"
        rows.append(("against the model", f"{tally.mismatches:,} mismatches in {tally.checked:,} "
                                          f"entries and the counters: {verdict}"))  # fmt: skip
    return rows


def _cycles_row(
    choice: SparseChoice, counts: dict[str, int], figures: dict[str, Any]
) -> tuple[str, str]:
    return (
        "cycles",
        f"{counts['cycles']:,}: {figures['microseconds']:,.1f} us at {choice.gigahertz:g} GHz; "
        f"{counts['stalls']:,} without a product between the first and the last",
    )


def _byte_rows(counts: dict[str, int]) -> Rows:
    def operand(name: str) -> str:
        pairs, entries = counts[f"bytes_{name}_pairs"], counts[f"bytes_{name}_entries"]
        return f"{name.upper()} {pairs + entries:,} ({pairs:,} of pairs)"

    return [
        ("bytes read", f"{operand('a')}, {operand('b')}"),
        ("bytes written", operand("c")),
    ]


def _timed_rows(choice: SparseChoice, counts: dict[str, int], figures: dict[str, Any]) -> Rows:
    cycles = counts["cycles"]
    once = figures["bound_cycles_b_once"]
    return [
        ("bandwidth", f"{figures['bandwidth_gb_s']:.1f} GB/s; compulsory bytes: "
                      f"{figures['bandwidth_utilisation']:.1%} of the peak"),
        ("multipliers", f"{figures['multiplier_utilisation']:.1%} of the cycles"),
        ("roofline", f"{figures['gop_s']:.2f} of {figures['roofline_gop_s']:.2f} GOP/s at "
                     f"{figures['operations_per_byte']:.3f} operations a byte"),
        ("conflicts", f"{counts['conflicts']:,} waits for a channel that served another lane"),
        ("bound", f"{figures['bound_cycles']:,.0f} cycles: the ratio to it is "
                  f"{figures['ratio_to_bound']:.3f}"),
        ("bound, B read once", f"{once:,.0f} cycles: {cycles / once:.3f}"),
    ]  # fmt: skip
