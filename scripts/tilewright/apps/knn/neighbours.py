"""Nearest neighbours by squared distances, and a classifier on them.

Row q, column p of the distances is the sum over the features of (query - point)^2: one addnorm
product of the queries and the transposed points. Choosing the smallest and voting is left to the
host.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.extras import need
from ..common.matrix_files import write_array
from ..dense.report import finish, measure
from ..dense.session import product_unit
from ..dense.unit_choice import UnitChoice
from .accuracy import Distances, compare_distances, foresee_distances
from .data import Samples

__all__ = ["find_neighbours"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def find_neighbours(
    choice: UnitChoice,
    samples: Samples,
    neighbours: int,
    operations: int,
    *,
    output: Path | None,
    distances: Path | None,
) -> None:
    """Find so many neighbours of each query in so many operations, write what is asked for, and
    report."""
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
