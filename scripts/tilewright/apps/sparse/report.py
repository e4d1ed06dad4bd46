"""What the sparse applications print and write about their run."""

from __future__ import annotations

from typing import Any

import typer

from ...report_table import print_rows
from ...reports import compiled_rows
from ...sim.matraptor.cycles.breakdown import REASONS
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
    print_rows(title, [*rows, *_rows(choice, tally, figures)])
    if wrong or tally.mismatches:
        raise typer.Exit(1)


def _figures(choice: SparseChoice, tally: SparseTally) -> dict[str, Any]:
    """Derived figures; None where the backend does not count cycles."""
    counts, config = tally.counts, choice.config
    cycles = counts.get("cycles", 0)
    mean = counts.get("operations", 0) / config.lanes
    known = {
        "load_imbalance": counts["lane_busy_max"] / mean if mean else None,
        "microseconds": None, "gop_s": None, "bound_gop_s": None,
        "operations_per_compulsory_byte": None, "access_bytes": None, "memory_bytes": None,
        "compulsory_bytes": None, "memory_gb_s": None, "peak_gb_s": None,
        "bandwidth_utilisation": None, "multiplier_utilisation": None, "bound_cycles": None,
        "bound_by": None, "ratio_to_bound": None, "bound_cycles_even": None,
        "bound_cycles_b_once": None, "bound_cycles_one_job": None, "lane_cycles": None,
    }  # fmt: skip
    bounds = tally.bounds
    if not cycles or not bounds:
        return known
    memory = [limit.memory for limit in bounds]
    limit = sum(each.cycles for each in bounds)
    in_memory = sum(each.memory_cycles for each in bounds)
    in_lanes = sum(each.product_cycles for each in bounds)
    # A multiplication and an addition each.
    operations = 2 * counts["operations"]
    peak, compulsory = memory[0].peak, sum(each.bytes for each in memory)
    return known | {
        "microseconds": cycles / choice.gigahertz / 1000,
        "gop_s": operations / cycles * choice.gigahertz,
        "bound_gop_s": operations / limit * choice.gigahertz,
        "operations_per_compulsory_byte": operations / compulsory,
        "access_bytes": memory[0].piece_bytes,
        "memory_bytes": sum(job.memory_bytes for job in tally.timed),
        "compulsory_bytes": compulsory,
        "memory_gb_s": sum(job.memory_bytes for job in tally.timed) / cycles * choice.gigahertz,
        "peak_gb_s": peak * choice.gigahertz,
        "bandwidth_utilisation": compulsory / (cycles * peak),
        "multiplier_utilisation": counts["operations"] / (cycles * config.lanes),
        "bound_cycles": limit,
        "bound_by": "memory" if in_memory >= in_lanes else "products",
        "ratio_to_bound": cycles / limit,
        "bound_cycles_even": sum(each.cycles_even for each in bounds),
        "bound_cycles_b_once": sum(each.cycles_once for each in bounds),
        "bound_cycles_one_job": sum(each.cycles for each in tally.whole),
        "lane_cycles": _lane_cycles(tally) if choice.backend == "cycles" else None,
    }


def _lane_cycles(tally: SparseTally) -> dict[str, int]:
    """What the cycles of all lanes went to, in all jobs."""
    return {name: sum(job.lane_cycles[name] for job in tally.timed) for name in REASONS}


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
    rows += [*compiled_rows(), ("simulation", f"{tally.seconds:.2f} s")]
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
    size, ratio = figures["access_bytes"], figures["ratio_to_bound"]
    pieces = "beats" if choice.memory.flat else "accesses"
    rows = [
        ("memory moved", f"{figures['memory_bytes']:,} bytes in {pieces} of {size}; compulsory: "
                         f"{figures['compulsory_bytes']:,}"),
        ("bandwidth", f"{figures['memory_gb_s']:.1f} of {figures['peak_gb_s']:.1f} GB/s; "
                      f"compulsory bytes: {figures['bandwidth_utilisation']:.1%} of the peak"),
        ("multipliers", f"{figures['multiplier_utilisation']:.1%} of the cycles"),
        ("conflicts", f"{counts['conflicts']:,} waits for a channel that served another lane"),
        ("bound", f"{figures['bound_cycles']:,.0f} cycles, by {figures['bound_by']}: the ratio to "
                  f"it is {ratio:.3f}"),
        ("roofline", f"{figures['gop_s']:.2f} of {figures['bound_gop_s']:.2f} GOP/s, the bound's: "
                     f"{1 / ratio:.1%}, one over the ratio; "
                     f"{figures['operations_per_compulsory_byte']:.3f} operations a byte"),
        *_other_bounds(counts["cycles"], figures),
    ]  # fmt: skip
    if figures["lane_cycles"]:
        rows.append(("lanes' cycles", _shares(figures["lane_cycles"])))
    return rows


def _other_bounds(cycles: int, figures: dict[str, Any]) -> Rows:
    """Lower ones: of what another placement, a cache or deeper queues could do without."""
    known = {
        "bound, evenly spread": figures["bound_cycles_even"],
        "bound, B read once": figures["bound_cycles_b_once"],
        "bound, were it one job": figures["bound_cycles_one_job"],
    }
    if figures["bound_cycles_one_job"] == figures["bound_cycles"]:
        del known["bound, were it one job"]
    return [(label, f"{limit:,.0f} cycles: {cycles / limit:.3f}") for label, limit in known.items()]


def _shares(lane_cycles: dict[str, int]) -> str:
    """In percent, the largest first."""
    total = sum(lane_cycles.values())
    found = sorted(lane_cycles.items(), key=lambda each: -each[1])
    return ", ".join(f"{REASONS[name]} {count / total:.1%}" for name, count in found if count)
