"""``tilewright run knn``: nearest neighbours by squared distances, and a classifier on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, check_installed, check_output
from ...common.first_lines import check_first_lines
from ...common.limits import check_operations, check_size
from ...common.units.matrix_unit import (
    SemiringOptions,
    UnitChoice,
    choose_semiring_unit,
    refuse_values,
)

__all__ = ["knn"]


DIGITS, FEATURES = 1797, 64
"""Samples of scikit-learn's digits, points and queries together, and features of each."""


def knn(
    points: Annotated[
        Path | None,
        typer.Argument(help=f"Points, one a row, {ARRAY_NAMES}; default: scikit-learn's digits."),
    ] = None,
    queries: Annotated[
        Path | None, typer.Argument(help="Queries, one a row, with as many features.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Class of each point, integers, to classify queries.")
    ] = None,
    query_labels: Annotated[
        Path | None, typer.Option(help="True class of each query, to judge the classes found.")
    ] = None,
    neighbours: Annotated[
        int,
        typer.Option(
            "-k",
            "--neighbours",
            parser=whole("--neighbours"),
            metavar="N",
            help="Number of neighbours to find.",
        ),
    ] = 5,
    count: Annotated[
        int,
        typer.Option(
            "--queries",
            parser=whole("--queries"),
            metavar="N",
            help="Use the last N of the digits as queries.",
        ),
    ] = 297,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=f"Write the neighbours of each query, rows counted from 0, {ARRAY_NAMES}.",
        ),
    ] = None,
    distances: Annotated[
        Path | None,
        typer.Option(help=f"Write squared distances, queries by points, {ARRAY_NAMES}."),
    ] = None,
    *,
    options: SemiringOptions,
) -> None:
    """Find the nearest neighbours of queries among points, and classify them: addnorm.

    Every operation goes through the unit and is checked; distances are compared with SciPy's,
    neighbours and classes with scikit-learn's.
    """
    choice = choose_semiring_unit(options, "knn", "addnorm")
    if choice.backend == "cycles":
        refuse_values(
            {
                "--output": output,
                "--distances": distances,
                "--labels": labels,
                "--query-labels": query_labels,
            }
        )
    if output:
        check_output(output)
    if distances:
        check_output(distances, beside=output)
    check_installed("sklearn.neighbors", "scikit-learn")
    if points is None and not 1 <= count < DIGITS:
        raise UserError(f"--queries must be in 1..{DIGITS - 1}, not {count}")
    if choice.backend == "cycles":
        _time_distances(choice, points, queries, count, neighbours)
        return
    for file in (points, queries, labels, query_labels):
        if points and file:
            check_first_lines(file)
    from ..data import read_samples

    samples = read_samples(points, queries, labels, query_labels, count)
    if not 1 <= neighbours <= len(samples.points):
        raise UserError(
            f"--neighbours must be in 1..{len(samples.points)}, the points there are, "
            f"not {neighbours}"
        )
    shape = len(samples.queries), samples.points.shape[1], len(samples.points)
    check_size(f"the distances in {samples.name}", shape[0], shape[2])
    operations = choice.operations(1, shape)
    check_operations(samples.name, operations, "choose a larger tile or fewer queries")
    from ..neighbours import find_neighbours

    find_neighbours(choice, samples, neighbours, operations, output=output, distances=distances)


def _time_distances(
    choice: UnitChoice, points: Path | None, queries: Path | None, count: int, neighbours: int
) -> None:
    """The distances' product, of which only shapes matter."""
    from ...common.shapes import shape_of
    from ...common.units.matrix_unit_runs import time_product

    title, shape = "scikit-learn's digits", (count, FEATURES, DIGITS - count)
    if points is not None:
        if queries is None:
            raise UserError(f"{points}: points need a second file with the queries")
        (there, features), (asked, wide) = shape_of(points), shape_of(queries)
        if features != wide:
            raise UserError(f"{queries}: must have {features} columns, as {points} has, not {wide}")
        title, shape = str(points), (asked, features, there)
    if not 1 <= neighbours <= shape[2]:
        raise UserError(
            f"--neighbours must be in 1..{shape[2]}, the points there are, not {neighbours}"
        )
    time_product("knn", f"nearest neighbours in {title}", choice, shape, use_c=False)
