"""``tilewright run knn``: nearest neighbours by squared distances, and a classifier on them.

Row q, column p of the distances is the sum over the features of (query - point)^2: one addnorm
product of the queries and the transposed points. Choosing the smallest and voting is left to the
host.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError
from ...numbers_given import whole
from ..common.extras import need
from ..common.files import check_output, write_array
from ..common.limits import check_operations, check_size
from ..dense.report import finish, measure
from ..dense.session import choose_semiring_unit, product_unit
from ..graphs.options import SemiringOptions
from .accuracy import Distances, compare_distances, foresee_distances
from .data import Samples, read_samples

__all__ = ["knn"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def knn(
    points: Annotated[
        Path | None,
        typer.Argument(help="Points, one a row, .npy or .mtx; default: scikit-learn's digits."),
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
            help="How many to find.",
        ),
    ] = 5,
    count: Annotated[
        int,
        typer.Option(
            "--queries",
            parser=whole("--queries"),
            metavar="N",
            help="Of the digits, take the last N as queries.",
        ),
    ] = 297,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Neighbours of each query, rows from 0, .npy or .mtx."),
    ] = None,
    distances: Annotated[
        Path | None, typer.Option(help="Squared distances, queries by points, .npy or .mtx.")
    ] = None,
    *,
    options: SemiringOptions,
) -> None:
    """Find the nearest neighbours of queries among points, and classify them: addnorm.

    Every operation goes through the unit and is checked; distances are compared with SciPy's,
    neighbours and classes with scikit-learn's.
    """
    choice = choose_semiring_unit(options, "knn", "addnorm")
    if output:
        check_output(output)
    if distances:
        check_output(distances, beside=output)
    need("sklearn.neighbors", "scikit-learn")
    samples = read_samples(points, queries, labels, query_labels, count)
    if not 1 <= neighbours <= len(samples.points):
        raise UserError(
            f"--neighbours must be in 1..{len(samples.points)}, the points there are, "
            f"not {neighbours}"
        )
    operations = _operations(choice, samples)
    reference = _reference(samples)
    foresee_distances(choice.numbers, samples, reference)
    left = choice.numbers.operands(samples.queries).words
    right = choice.numbers.operands(np.ascontiguousarray(samples.points.T)).words
    with product_unit(choice, operations) as (multiply, tally):
        words = multiply(left[np.newaxis], right[np.newaxis])[0]
    found = choice.numbers.results(words)
    chosen = np.argsort(found, axis=1, kind="stable")[:, :neighbours]
    agreement = compare_distances(choice.config, choice.numbers, samples, found, reference)
    rows, details, wrong = _report(samples, chosen, agreement, reference)
    for path, label, values in ((output, "result", chosen), (distances, "distances", found)):
        if path:
            write_array(path, values)
            rows.append((label, str(path)))
    errors = {"unit": measure(found, reference)}
    finish("knn", f"nearest neighbours in {samples.name}", rows, choice, tally, errors, details,
           wrong=wrong)  # fmt: skip


def _operations(choice: Any, samples: Samples) -> int:
    shape = len(samples.queries), samples.points.shape[1], len(samples.points)
    check_size(f"the distances in {samples.name}", shape[0], shape[2])
    operations: int = choice.operations(1, shape)
    check_operations(samples.name, operations, "choose a larger tile or fewer queries")
    return operations


def _reference(samples: Samples) -> Floats:
    distance = need("scipy.spatial.distance", "SciPy")
    found: Floats = distance.cdist(samples.queries, samples.points, "sqeuclidean")
    return found


def _report(
    samples: Samples, chosen: Indices, agreement: Distances, reference: Floats
) -> tuple[list[tuple[str, str]], dict[str, Any], bool]:
    count = chosen.shape[1]
    sklearn = need("sklearn.neighbors", "scikit-learn")
    theirs = sklearn.NearestNeighbors(n_neighbors=count, algorithm="brute").fit(samples.points)
    expected = theirs.kneighbors(samples.queries, return_distance=False)
    farther = _farther(chosen, expected, reference, agreement)
    shared = sum(len(np.intersect1d(x, y)) for x, y in zip(chosen, expected, strict=True))
    rows = [
        ("points", f"{len(samples.points):,} of {samples.points.shape[1]} features"),
        ("queries", f"{len(samples.queries):,}, {count} neighbours each"),
        ("distances", agreement.words),
        ("scikit-learn's neighbours", f"{shared:,} of {expected.size:,} the same; "
                                      f"{farther:,} of ours are farther"),
    ]  # fmt: skip
    details: dict[str, Any] = {
        "data": samples.name,
        "points": len(samples.points),
        "queries": len(samples.queries),
        "features": samples.points.shape[1],
        "neighbours": count,
        "agreement": {
            "criterion": agreement.criterion,
            "bound": agreement.bound,
            "worst": agreement.worst,
            "wrong": agreement.wrong,
        },
        "neighbours_shared": shared,
        "neighbours_farther": farther,
    }
    if samples.labels is not None:
        _add_classes(samples, chosen, rows, details)
    return rows, details, bool(agreement.wrong or farther)


def _farther(chosen: Indices, expected: Indices, reference: Floats, agreement: Distances) -> int:
    """Neighbours of ours that are farther off, in truth, than scikit-learn's of the same rank, by
    more than the unit's rounding explains. Equally near ones may be others."""
    ours = np.sort(np.take_along_axis(reference, chosen, axis=1), axis=1)
    theirs = np.sort(np.take_along_axis(reference, expected, axis=1), axis=1)
    allowed = 2 * agreement.bounds.max(axis=1, keepdims=True)
    return int(np.count_nonzero(ours - theirs > allowed + 1e-9 * theirs))


def _add_classes(
    samples: Samples, chosen: Indices, rows: list[tuple[str, str]], details: dict[str, Any]
) -> None:
    """Classify by majority, ties to the smallest class, as scikit-learn does."""
    assert samples.labels is not None
    classes, members = np.unique(samples.labels, return_inverse=True)
    votes = np.zeros((len(chosen), len(classes)), np.int64)
    for column in members[chosen].T:
        votes[np.arange(len(chosen)), column] += 1
    ours = classes[votes.argmax(axis=1)]
    sklearn = need("sklearn.neighbors", "scikit-learn")
    theirs = sklearn.KNeighborsClassifier(n_neighbors=chosen.shape[1], algorithm="brute")
    predicted = theirs.fit(samples.points, samples.labels).predict(samples.queries)
    same = int(np.count_nonzero(ours == predicted))
    rows.append(("scikit-learn's classes", f"{same:,} of {len(ours):,} the same"))
    details |= {"classes": ours.tolist(), "classes_shared": same}
    if samples.query_labels is None:
        return
    right, theirs_right = (float((x == samples.query_labels).mean()) for x in (ours, predicted))
    rows.append(("accuracy", f"{right:.2%} (scikit-learn: {theirs_right:.2%})"))
    details |= {"accuracy": right, "reference_accuracy": theirs_right}
