"""``tilewright run label``: means over neighbours, two iterations a pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError, user_errors
from ...numbers_given import real
from ...sim.sida.iterations.linear import labels
from ...sim.sida.result.products import Rules
from ..common.matrix_files import read_array
from ..graphs.graph import Graph
from .application import Application, finish, graph_of, numbers_of, source_of
from .options import SidaOptions, choose_sida
from .session import run_problem
from .verdict import against_means

__all__ = ["label"]

_MEANS = 10_000
"""Iterations of label propagation, unless the user says."""

ToleranceOption = Annotated[
    float,
    typer.Option(parser=real("--tolerance", 0, 1), metavar="T", help="When it ends."),
]


def label(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH", help="Symmetric, .mtx or .npy.")],
    classes: Annotated[
        str,
        typer.Option("--labels", metavar="0,1,...|FILE", help="Of the first vertices, 0 or 1."),
    ],
    tolerance: ToleranceOption = 1e-6,
    *,
    options: SidaOptions,
) -> None:
    """Spread two labels over a graph: a vertex takes the weighted mean of its neighbours, and has
    label 1 if that is above 1/2.

    It ends when the values move by less than the tolerance a vertex, in the 1-norm; they are
    checked against the same iterations in float64.
    """
    choice = choose_sida(options, "label", "mma", floats=True)
    given = _classes(classes)
    whole = graph_of(choice, graph, np.add)
    _check_neighbours(whole)
    if len(given) > whole.vertices:
        raise UserError(
            f"--labels must be at most {whole.vertices} labels, for the vertices of {graph}, not "
            f"{len(given)}"
        )
    with user_errors(ValueError, about=str(graph)):
        problem = labels(Rules.of(choice.config), whole.sparse(), given, tolerance=tolerance)
    run = run_problem(choice, problem, options.max_iterations or _MEANS)
    values = numbers_of(choice, run.solution)
    verdict = against_means(
        choice.config.format, values, whole.sparse(), given, run.solution.iterations
    )
    counts = [int(np.count_nonzero(which)) for which in (values > 0.5, values < 0.5, values == 0.5)]
    rows = [
        ("labels", f"{len(given):,} given"),
        ("classes", f"{counts[0]:,} of label 1, {counts[1]:,} of label 0, {counts[2]:,} undecided"),
    ]
    details = {"given": len(given), "tolerance": tolerance,
               "classes": dict(zip(("one", "zero", "undecided"), counts, strict=True))}  # fmt: skip
    what = "label propagation"
    finish(
        Application(app="label", what=what, choice=choice, source=source_of(whole),
                    problem=problem),
        run, values, rows, details, verdict,
        moves="the values' last change, in the 1-norm,",
    )  # fmt: skip


def _classes(text: str) -> NDArray[np.float64]:
    """What --labels says; UserError if it is no labels."""
    path = Path(text)
    if path.suffix.lower() not in (".npy", ".mtx"):
        if not re.fullmatch("[01](,[01])*", text.replace(" ", "")):
            raise UserError(
                "--labels must be 0 or 1 each with commas between them, or a .npy or .mtx file of "
                f"them, not {text[:60]!r}"
            )
        return np.array([float(word) for word in text.split(",")])
    found = read_array(path).reshape(-1)
    wrong = (found != 0) & (found != 1)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise UserError(f"{path}: label {place + 1} must be 0 or 1, not {found[place]:g}")
    return found.real


def _check_neighbours(graph: Graph) -> None:
    wrong = graph.weights <= 0
    if wrong.any():
        first = int(np.argmax(wrong))
        raise UserError(
            f"{graph.name}: the weight of the edge {graph.edge(first)} is "
            f"{graph.weights[first]:g}; weights must be positive"
        )
    if not graph.is_undirected:
        matrix = graph.sparse()
        first = int(np.flatnonzero(((matrix != matrix.T).tocsr())[graph.rows, graph.cols])[0])
        raise UserError(
            f"{graph.name}: the edge {graph.edge(first)} has none of the same weight back; "
            "weights must be symmetric"
        )
