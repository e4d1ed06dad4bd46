"""Runs a program of the user's, pass after pass, and reports its results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.sida import SIDA_SEMIRINGS
from ...sim.numbers.values import Patterns, decode
from ...sim.sida.iterations.graphs import columns_of
from ...sim.sida.iterations.problem import Problem, Solution
from ..common.files import write_whole
from ..common.rounding import round_to, warn_rounding
from ..common.units.sida import SidaChoice
from ..common.units.sida_report import Residual, iteration_report, outcome_of_problem
from ..common.units.sida_runs import run_problem
from .inputs import OwnInputs, Source, read_vector
from .options import OwnOptions

__all__ = ["run_own"]


def run_own(
    choice: SidaChoice, file: Path, matrix: Any, program: Path, own: OwnOptions, given: OwnInputs
) -> None:
    """Run it on a matrix, write its vectors if that is asked for, and report.

    ``file``, ``program``: where both come from.
    """
    fmt, size, names = choice.config.format, matrix.shape[0], given.program.vectors
    matrix.data = _rounded(choice, file, matrix.data)
    vectors = {name: _vector(choice, given.vectors.get(name), size, 0.0) for name in names}
    problem = Problem(
        program=given.program,
        semiring=SIDA_SEMIRINGS[own.first],
        second=SIDA_SEMIRINGS[own.second] if own.second else None,
        transposed=own.transposed,
        matrix=columns_of(matrix, fmt),
        x=_vector(choice, own.x, size, 1.0),
        scalars=given.scalars,
        vectors=vectors,
        stop=given.stop,
        results=(names[0], names[0]),
    )
    run = run_problem(choice, problem, 2 * own.count)
    _finish(choice, file, program, problem, run)


def _finish(choice: SidaChoice, file: Path, program: Path, problem: Problem, run: Any) -> None:
    solution: Solution = run.solution
    fmt = choice.config.format
    arrays = {name: decode(values[:, 0], fmt) for name, values in solution.vectors.items()}
    numbers = {
        name: float(decode(np.array([pattern], np.uint64), fmt)[0])
        for name, pattern in solution.scalars.items()
    }
    reductions = [one.name for one in problem.program.scalars if one.reduction]
    source = Source(path=file, kind="matrix", text=f"{problem.matrix.size:,} rows",
                    details={"rows": problem.matrix.size})  # fmt: skip
    rows = [(source.kind, source.text), ("program", f"{program}, {problem.program.words} words")]
    rows += [(f"reduction {name}", f"{numbers[name]:.9g}") for name in reductions]
    for name, values in arrays.items():
        with np.errstate(all="ignore"):
            text = f"{values.min():.6g} to {values.max():.6g}, {values.sum():.9g} in all"
        rows.append((f"vector {name}", text))
    if choice.output:
        write_whole(choice.output, lambda out: np.savez(out, **arrays))  # type: ignore[arg-type]
        rows.append(("vectors", str(choice.output)))
    residual = None
    if problem.stop is not None:
        name = problem.stop.reductions[(solution.iterations + 1) % 2]
        limit = float(decode(np.array([problem.stop.pattern(fmt)], np.uint64), fmt)[0])
        residual = Residual(what=name, value=numbers[name], limit=limit)
    details = {
        "file": str(file), "program": str(program), **source.details,
        "semirings": [row.name for row in problem.semirings], "transposed": problem.transposed,
        "scalars": {name: value if np.isfinite(value) else None for name, value in numbers.items()},
    }  # fmt: skip
    iteration_report(
        "passes", f"{program.name} on {file.name}", rows, choice,
        outcome_of_problem(choice, problem, run), details, verdict=None, residual=residual,
    ).finish()  # fmt: skip


def _vector(choice: SidaChoice, path: Path | None, size: int, value: float) -> Patterns:
    """(size, 1) patterns."""
    if path is None:
        return round_to(np.full((size, 1), value), choice.config.format).words
    rounded = round_to(read_vector(path, size)[:, None], choice.config.format)
    warn_rounding(path, rounded, choice.config.format)
    return rounded.words


def _rounded(choice: SidaChoice, path: Path, values: NDArray[Any]) -> NDArray[Any]:
    rounded = round_to(values, choice.config.format)
    warn_rounding(path, rounded, choice.config.format)
    return rounded.values
