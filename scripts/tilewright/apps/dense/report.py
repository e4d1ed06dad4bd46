"""What an application prints and writes about its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import typer
from numpy.typing import NDArray

from ...report_table import print_rows
from ...reports import compiled_rows
from ..common.files import write_json
from ..common.tally import Tally
from ..engine.report import engine_figures, engine_rows
from ..engine.tally import EngineTally
from .unit_choice import UnitChoice

__all__ = ["Errors", "finish", "measure"]


@dataclass(frozen=True)
class Errors:
    """Distance of a result from the float64 reference, over the elements finite in both.

    Parameters
    ----------
    largest, mean: absolute error
    relative: Euclidean norm of the errors over that of the reference
    left_out: elements that are not finite in one of them
    """

    largest: float
    mean: float
    relative: float
    left_out: int


def measure(result: NDArray[Any], reference: NDArray[Any]) -> Errors:
    """The errors of a result against a float64 or complex128 reference of the same shape."""
    usable = np.isfinite(result) & np.isfinite(reference)
    left_out = int(usable.size - np.count_nonzero(usable))
    if not usable.any():
        return Errors(0.0, 0.0, 0.0, left_out)
    wide = np.complex128 if np.iscomplexobj(reference) else np.float64
    distance = np.abs(result[usable].astype(wide) - reference[usable])
    scale = float(np.linalg.norm(reference[usable]))
    relative = float(np.linalg.norm(distance)) / scale if scale else 0.0
    return Errors(float(distance.max()), float(distance.mean()), relative, left_out)


def finish(
    app: str,
    title: str,
    rows: list[tuple[str, str]],
    choice: UnitChoice,
    tally: Tally,
    errors: dict[str, Errors],
    details: dict[str, Any],
    *,
    wrong: bool = False,
) -> None:
    """Print the report, write it as JSON if asked, and exit with 1 if anything was wrong.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every application has
    errors: by what was measured, "unit" first
    details: what the application adds to the JSON
    wrong: whether the application found its result wrong
    """
    if choice.json_file:
        write_json(choice.json_file, _as_json(app, choice, tally, errors, details))
    _show(title, rows, choice, tally, errors)
    if tally.mismatches or wrong:
        raise typer.Exit(1)


def _as_json(
    app: str,
    choice: UnitChoice,
    tally: Tally,
    errors: dict[str, Errors],
    details: dict[str, Any],
) -> dict[str, Any]:
    engine = choice.engine
    timing = engine_figures(engine, cast("EngineTally", tally)) if engine else {}
    return {
        "app": app,
        **details,
        "unit": choice.unit,
        "config": (engine or choice).config.resolved(),
        "mode": choice.mode,
        "backend": choice.backend,
        "operations": tally.operations,
        "cycles": tally.cycles or None,
        "utilisation": tally.utilisation or None,
        **timing,
        "seconds": tally.seconds,
        "operations_per_second": _rate(tally),
        "checked": tally.checked,
        "mismatches": tally.mismatches,
        "errors": {
            name: {"max": e.largest, "mean": e.mean, "relative": e.relative, "left_out": e.left_out}
            for name, e in errors.items()
        },
    }


def _words(choice: UnitChoice) -> str:
    """The operation, and its formats if it is not named after them."""
    numbers = choice.numbers
    if numbers.pairs or choice.mode == numbers.element.name:
        return f"mode {choice.mode}"
    return f"{choice.mode}, {numbers.element.name} to {numbers.result.name}"


def _rate(tally: Tally) -> float:
    return tally.operations / tally.seconds if tally.seconds else 0.0


def _show(
    title: str, rows: list[tuple[str, str]], choice: UnitChoice, tally: Tally,
    errors: dict[str, Errors],
) -> None:  # fmt: skip
    shape = f"{choice.config.rows} x {choice.config.cols} x {choice.config.depth}"
    rows = [*rows, ("unit", f"{choice.unit} {shape}, {_words(choice)}, {choice.backend}")]
    if choice.engine:
        rows += engine_rows(choice.engine, cast("EngineTally", tally))
    else:
        rows.append(("operations", f"{tally.operations:,}"))
    if choice.backend == "rtl" and not choice.engine:
        rows.append(("cycles", f"{tally.cycles:,}"))
        share = f"{tally.busy_cycles:,} of {tally.cycles:,} cycles"
        rows.append(("utilisation", f"{tally.utilisation:.2%} ({share})"))
    rows += [
        *compiled_rows(),
        ("simulation", f"{tally.seconds:.2f} s, {_rate(tally):,.0f} operations/s"),
    ]
    if choice.backend == "rtl":
        verdict = "bit for bit equal" if not tally.mismatches else "DIFFERENT"
        counters = f" and {tally.counters:,} counters" if isinstance(tally, EngineTally) else ""
        found = f"{tally.mismatches:,} mismatches in {tally.checked:,} results{counters}"
        rows.append(("against the model", f"{found}: {verdict}"))
    for name, e in errors.items():
        figures = f"max {e.largest:.2e}, mean {e.mean:.2e}, relative norm {e.relative:.2e}"
        left_out = f" ({e.left_out:,} not finite, left out)" if e.left_out else ""
        rows.append((f"error of {name}", figures + left_out))
    if choice.waves:
        rows.append(("waves", str(choice.waves)))
    print_rows(title, rows)
