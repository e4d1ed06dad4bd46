"""``tilewright run label|cg``: systems of equations, two iterations a pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError
from ...numbers_given import real
from ...sim.sida.iterations.linear import conjugate_gradients, labels
from ...sim.sida.result.products import Rules
from ..common.extras import need
from ..common.files import read_array
from ..graphs.graph import Graph
from .application import Application, Source, finish, graph_of, matrix_of, numbers_of, source_of
from .options import SidaOptions, choose_sida
from .session import run_problem
from .verdict import against_means, residual_of

__all__ = ["cg", "label"]

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
            f"--labels must be at most {whole.vertices}, the vertices of {graph}, not {len(given)}"
        )
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
    if re.fullmatch(r"[0-9]+(,[0-9]+)*", text.replace(" ", "")):
        found = np.array([float(word) for word in text.split(",")])
    else:
        found = read_array(Path(text)).reshape(-1)
    if np.iscomplexobj(found) or not ((found == 0) | (found == 1)).all():
        raise UserError(f"--labels must be 0 or 1 each, not {text!r}")
    return found


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


def cg(
    file: Annotated[
        Path, typer.Argument(metavar="MATRIX", help="Symmetric, positive definite, .mtx or .npy.")
    ],
    right: Annotated[
        Path | None, typer.Option("--right", metavar="FILE", help="Right side; default: ones.")
    ] = None,
    tolerance: ToleranceOption = 1e-5,
    *,
    options: SidaOptions,
) -> None:
    """Solve a system of equations by conjugate gradients, in the form in which two iterations fit a
    pass, in fp64 unless `value` is set.

    It ends when the 2-norm of the residual is less than the tolerance times that of the right side;
    the residual is computed anew in float64, and SciPy's iterations counted.
    """
    choice = choose_sida(options, "cg", "mma", floats=True, value="fp64")
    matrix = matrix_of(choice, file)
    _check_symmetric(file, matrix)
    size = matrix.shape[0]
    b = np.ones(size) if right is None else _right_side(right, size)
    problem = conjugate_gradients(Rules.of(choice.config), matrix, b, tolerance=tolerance)
    run = run_problem(choice, problem, options.max_iterations or 10 * size)
    x = numbers_of(choice, run.solution)
    settled = run.solution.settled
    fmt, count = choice.config.format, run.solution.iterations
    verdict = residual_of(fmt, matrix, b, x, tolerance, count) if settled else None
    theirs = _scipy_iterations(matrix, b, tolerance, 10 * size)
    source = Source(
        path=file,
        kind="matrix",
        text=f"{size:,} x {size:,}",
        details={"rows": size, "right": None if right is None else str(right)},
    )
    said = f"{theirs:,} iterations" if theirs is not None else "does not converge"
    finish(
        Application(app="cg", what="conjugate gradients", choice=choice, source=source,
                    problem=problem),
        run, x, [("SciPy's cg", said)], {"tolerance": tolerance, "scipy_iterations": theirs},
        verdict, moves="the residual's square",
    )  # fmt: skip


def _check_symmetric(path: Path, matrix: Any) -> None:
    different = (matrix != matrix.T).tocoo()
    if different.nnz:
        row, column = (int(part[0]) + 1 for part in (different.row, different.col))
        raise UserError(
            f"{path}: the value of row {row}, column {column} is not that of row {column}, column "
            f"{row}; the matrix must be symmetric"
        )


def _right_side(path: Path, size: int) -> NDArray[np.float64]:
    found = read_array(path)
    if np.iscomplexobj(found) or found.size != size or max(found.shape) != size:
        raise UserError(f"{path}: must be a vector of {size} real values")
    if not np.isfinite(found).all() or not found.any():
        raise UserError(f"{path}: values must be finite, and not all 0")
    return np.asarray(found, np.float64).reshape(-1)


def _scipy_iterations(matrix: Any, b: Any, tolerance: float, most: int) -> int | None:
    """How many SciPy takes; None if so many are too few."""
    linalg = need("scipy.sparse.linalg", "SciPy")
    count = 0

    def counted(_: object) -> None:
        nonlocal count
        count += 1

    with np.errstate(all="ignore"):
        _, failed = linalg.cg(matrix, b, rtol=tolerance, atol=0, maxiter=most, callback=counted)
    return None if failed else count
