"""``tilewright run label``: means over neighbours, two iterations a pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....numbers_given import real
from ...common.files import ARRAY_NAMES, ARRAYS, kind_of
from ...common.first_lines import check_first_lines, check_graph_file
from ...common.units.sida import SidaOptions, choose_sida
from ..options import IterationOptions

__all__ = ["label"]

_MEANS = 10_000
"""Iterations of label propagation, unless the user says."""

ToleranceOption = Annotated[
    float | None,
    typer.Option(parser=real("--tolerance", 0, 1), metavar="T",
                 help="Stop when the values, each in 0..1, change by less than T on average; "
                      "default: 1e-6, or 16 roundings of `value` if that is more."),
]  # fmt: skip


def label(
    graph: Annotated[
        Path, typer.Argument(metavar="GRAPH", help=f"Symmetric adjacency matrix, {ARRAY_NAMES}.")
    ],
    classes: Annotated[
        str,
        typer.Option(
            "--labels", metavar="0,1,...|FILE", help="Labels of the first vertices, 0 or 1 each."
        ),
    ],
    tolerance: ToleranceOption = None,
    *,
    how: IterationOptions,
    options: SidaOptions,
) -> None:
    """Spread two labels over a graph: a vertex takes the weighted mean of its neighbours, and has
    label 1 if that is above 1/2.

    The values are compared with those of as many iterations in float64: the difference must be
    within what the roundings of all iterations explain.
    """
    choice = choose_sida(options, "label", "mma", output=how.output, floats=True)
    path = Path(classes)
    if kind_of(path) in ARRAYS:
        check_first_lines(path)
    elif not re.fullmatch("[01](,[01])*", classes.replace(" ", "")):
        raise UserError(
            f"--labels must be 0 or 1 each with commas between them, or a {ARRAY_NAMES} file of "
            f"them, not {classes[:60]!r}"
        )
    check_graph_file(graph, choice.check_vertices)
    from numpy import add

    from ..inputs import check_neighbours, graph_of, read_labels

    given = read_labels(classes)
    whole = graph_of(choice, graph, add)
    choice = choice.sized(whole.vertices, "vertices")
    check_neighbours(whole)
    if len(given) > whole.vertices:
        raise UserError(
            f"--labels must be at most {whole.vertices} labels, for the vertices of {graph}, not "
            f"{len(given)}"
        )
    from ..graph_values import spread_labels

    most = how.max_iterations or _MEANS
    limit = choice.tolerance if tolerance is None else tolerance
    spread_labels(choice, whole, given, most, tolerance=limit)
