"""What the applications of tensors print and write about their run."""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table

from ...report_table import print_figures, print_rows
from ...reports import compiled_rows
from ...sim.tensaurus.tiles import Plan
from ..common.files import write_json
from .options import TensorChoice
from .session import TensorTally

__all__ = ["finish_tensors"]

Rows = list[tuple[str, str]]

_LETTERS = "ijkl"


def finish_tensors(
    app: str, title: str, rows: Rows, choice: TensorChoice, tally: TensorTally,
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
    plans = [plan_json(plan) for plan in tally.plans]
    if choice.json_file:
        write_json(choice.json_file, {
            "app": app, **details, "unit": choice.unit, "config": choice.config.resolved(),
            "backend": choice.backend, **_timing(choice), "products": len(tally.plans),
            "tiles": tally.tiles, "plans": plans[:100], "counters": tally.counts,
            "checked": tally.checked, "mismatches": tally.mismatches, "seconds": tally.seconds,
        })  # fmt: skip
    console = print_rows(title, [*rows, *_rows(choice, tally)])
    if choice.explain:
        for plan in tally.plans[:1]:
            print_figures(console, _explained(plan))
    if wrong or tally.mismatches:
        raise typer.Exit(1)


def _timing(choice: TensorChoice) -> dict[str, Any]:
    """What the cycle model was told."""
    if choice.backend != "cycles":
        return {}
    return {"memory": choice.memory.name, "gigahertz": choice.gigahertz}


def plan_json(plan: Plan) -> dict[str, Any]:
    """A plan's figures."""
    cut, cost = plan.cut, plan.cost
    return {
        "kernel": cut.kernel.name, "order": cut.kernel.order, "vectors": cut.kernel.vectors,
        "scalars": list(cut.kernel.scalars), "steps": list(cut.steps),
        "loops": "".join(_LETTERS[mode] for mode in cut.loops), "compared": plan.compared,
        "store": cut.store,
        "bytes": {
            "tensor": cost.tensor, "headers": cost.headers, "operands": list(cost.operands),
            "output": cost.output, "list": cost.list, "total": cost.total,
        },
        "cycles": {
            "memory": cost.cycles.memory, "array": cost.cycles.array, "drains": cost.cycles.drains,
        },
        "times": list(plan.loads),
    }  # fmt: skip


def _rows(choice: TensorChoice, tally: TensorTally) -> Rows:
    counts, config = tally.counts, choice.config
    rows = [
        ("unit", f"{choice.unit}, {config.rows} x {config.cols} elements, vectors of "
                 f"{config.vlen}; {config.channels} channels of {config.data_bits} bits"),
        ("operation", f"{config.semiring} in {config.value}, {choice.backend}"),
    ]  # fmt: skip
    if tally.plans:
        cut = tally.plans[0].cut
        sizes = " x ".join(f"{step:,}" for step in cut.steps)
        rows.append(("tiles", f"{tally.tiles:,}, of {sizes} at most"))
        total = sum(plan.cost.total for plan in tally.plans)
        rows.append(("bytes", f"{total:,} expected; --explain says which"))
    if counts:
        rows.append(("products", f"{counts['products']:,} of vectors, "
                                 f"{counts['operations']:,} operations"))  # fmt: skip
    if counts.get("cycles"):
        rows += _timed_rows(choice, counts)
    rows += [*compiled_rows(), ("simulation", f"{tally.seconds:.2f} s")]
    if choice.backend == "rtl":
        verdict = "bit for bit equal" if not tally.mismatches else "DIFFERENT"
        rows.append(("against the model", f"{tally.mismatches:,} mismatches in {tally.checked:,} "
                                          f"values and the counters: {verdict}"))  # fmt: skip
    return rows


def _timed_rows(choice: TensorChoice, counts: dict[str, int]) -> Rows:
    """Of a run that had cycles."""
    config, cycles = choice.config, counts["cycles"]
    peak = config.rows * cycles
    waits = ", ".join(
        f"{name.removeprefix('wait_')} {counts[name] / peak:.1%}"
        for name in ("wait_slots", "wait_operands", "wait_sums", "wait_output")
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
        ("cycles", f"{cycles:,}; rows began products in {counts['products'] / peak:.1%} of theirs; "
                   f"waited for {waits}"),
        ("bytes read", f"tensor {counts['bytes_tensor']:,}, operands "
                       f"{counts['bytes_matrices']:,}, list {counts['bytes_list']:,}, result "
                       f"{counts['bytes_output']:,}"),
        ("bytes written", f"{counts['bytes_written']:,}"),
    ]  # fmt: skip


def _explained(plan: Plan) -> Table:
    """What a plan's tiles cost."""
    cut, cost = plan.cut, plan.cost
    letters = _LETTERS[: cut.kernel.order]
    loops = ", ".join(_LETTERS[mode] for mode in cut.loops)
    table = Table(
        title=f"tiles: the fastest of {plan.compared:,}; loops over columns, i, {loops}, each "
        "turning back at its end",
        title_justify="left",
    )
    for name in ("of", "in a tile", "read or written", "bytes expected"):
        table.add_column(name, justify="right")
    table.add_row("tensor", f"{cut.steps[0]:,} slices", _times(plan.loads[0]),
                  f"{cost.tensor:,} ({cost.headers:,} of headers)")  # fmt: skip
    for mode in range(1, cut.kernel.order):
        row = cut.kernel.vectors
        what = f"{row} unit{'s' if row > 1 else ''}"
        if mode in cut.kernel.scalar_modes:
            count = 1 if cut.kernel.name == "mv" else cut.kernel.scalars[mode - 1]
            what = f"{count} scalar{'s' if count > 1 else ''}"
        table.add_row(f"operand of {letters[mode]}", f"{cut.steps[mode]:,} rows of {what}",
                      _times(plan.loads[mode]), f"{cost.operands[mode - 1]:,}")  # fmt: skip
    often = "1 x" if cut.store == "buffer" else "read and written in memory where a tile adds"
    table.add_row("result", f"{cut.steps[0]:,} slices", often, f"{cost.output:,}")
    table.add_row(
        "list", "", "1 x", f"{cost.list:,} ({cost.tiles:,} tile{'s' * (cost.tiles != 1)})"
    )
    table.add_row("all", "", "", f"{cost.total:,}")
    table.caption = (
        f"cycles expected: {cost.cycles.memory:,} of memory, {cost.cycles.array:,} of the array, "
        f"{cost.cycles.drains:,} of slices that leave it"
    )
    table.caption_justify = "left"
    return table


def _times(count: float) -> str:
    return f"{count:,.4g} x"
