"""Runs the steps that all commands of iterations share, from the file to the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sim.numbers.values import decode
from ...sim.sida.iterations.problem import Problem, Solution
from ..common.files import MARKET, kind_of
from ..common.matrix_files import write_array
from ..common.units.sida import SidaChoice
from ..common.units.sida_report import Residual, Verdict, iteration_report, outcome_of_problem
from ..common.units.sida_runs import SidaRun
from .inputs import Source

__all__ = ["Application", "finish", "is_matrix", "numbers_of", "residual_in"]


@dataclass(frozen=True, kw_only=True)
class Application:
    """Application with its input and its problem.

    Parameters
    ----------
    app, what: its name, and in words
    choice: on what
    source: the file, and what is said of it
    problem: it
    """

    app: str
    what: str
    choice: SidaChoice
    source: Source
    problem: Problem


def finish(
    of: Application,
    run: SidaRun,
    values: NDArray[Any],
    rows: list[tuple[str, str]],
    details: dict[str, Any],
    verdict: Verdict | None,
    *,
    moves: str | None,
) -> None:
    """Write the requested files, and report.

    Parameters
    ----------
    values: of each vertex, or row
    rows, details, verdict: see :func:`iteration_report`
    moves: what ends the computation, in words; None: nothing need
    """
    residual = None
    if moves is not None:
        residual = residual_in(of.choice, of.problem, run.solution, moves)
    if of.choice.output:
        write_array(of.choice.output, values[:, None] if is_matrix(of.choice.output) else values)
        rows.append(("values", str(of.choice.output)))
    details = {"file": str(of.source.path), **of.source.details, **details}
    iteration_report(
        of.app,
        f"{of.what} of {of.source.path.name}",
        [(of.source.kind, of.source.text), *rows],
        of.choice,
        outcome_of_problem(of.choice, of.problem, run),
        details,
        verdict=verdict,
        residual=residual,
    ).finish()


def is_matrix(path: Path) -> bool:
    """Tells whether a file holds columns, not vectors."""
    return kind_of(path) in MARKET


def residual_in(choice: SidaChoice, problem: Problem, solution: Solution, what: str) -> Residual:
    """Returns the stop rule's value, called ``what``, after the last iteration that counts."""
    stop, fmt = problem.stop, choice.config.format
    assert stop is not None
    name = stop.reductions[(solution.iterations + 1) % 2]
    pair = np.array([solution.scalars[name], stop.pattern(fmt)], np.uint64)
    value, limit = decode(pair, fmt)
    return Residual(what=what, value=float(value), limit=float(limit))


def numbers_of(choice: SidaChoice, solution: Solution) -> NDArray[Any]:
    return decode(solution.result[:, 0], choice.config.format)
