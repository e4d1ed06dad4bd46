"""Nearest neighbours by squared distances, and a classifier on them.

Row q, column p of the distances is the sum over the features of (query - point)^2: one addnorm
product of the queries and the transposed points. Choosing the smallest and voting is left to the
host.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FloatFormat, Format
from ...hw.spec.matrix_unit import MatrixUnitConfig
from ...hw.spec.simd2 import Simd2Config
from ..common.files import need
from ..common.matrix_files import write_array
from ..common.rounding import largest, round_to, say
from ..common.units.matrix_unit import UnitChoice
from ..common.units.matrix_unit_numbers import Numbers, narrowest_format
from ..common.units.matrix_unit_runs import matrix_unit_report, measure, product_unit
from .data import Samples

__all__ = ["find_neighbours"]


# Errors of distances in a format: predicted before a run, and bounded after it.
#
# Bounds. Let u be the relative rounding error of the operands' format and v that of the results'.
# Rounding moves a query q, a point p and their difference by at most u |q|, u |p| and u |q - p|
# (Euclidean norms), so that the distance changes by at most h = u (|q| + |p| + |q - p|), its
# square by (2 |q - p| + h) h. Each operation along the features rounds the sum once and drops less
# than its window does.


@dataclass(frozen=True, kw_only=True)
class Distances:
    """Squared distances beside their reference.

    Parameters
    ----------
    criterion: "exact", or "absolute": none farther from its reference than its bound
    bounds: for each distance
    worst: the largest error found
    wrong: distances beyond their bound
    """

    criterion: str
    bounds: Floats
    worst: float
    wrong: int

    @property
    def bound(self) -> float:
        """The largest bound."""
        return float(self.bounds.max())

    @property
    def words(self) -> str:
        if self.wrong:
            return f"DIFFERENT: {self.wrong:,} squared distances are wrong"
        if self.criterion == "exact":
            return "all squared distances exact, as SciPy's cdist"
        return (
            f"squared, off by at most {self.worst:.2e} from SciPy's cdist, of the "
            f"{self.bound:.2e} that rounding explains"
        )


def foresee_distances(numbers: Numbers, samples: Samples, reference: Floats) -> None:
    """Refuse what the unit's format cannot hold, and warn of what it rounds; UserError names the
    format that can."""
    element, both = numbers.element, np.concatenate([samples.points, samples.queries])
    rounded = round_to(both, element)
    if rounded.overflows:
        raise UserError(
            f"{samples.name}: features up to {np.abs(both).max():.6g} exceed what {element.name} "
            f"holds, {largest(element):.6g}; --set format={_format_for(both)} holds them"
        )
    highest = float(reference.max())
    if highest > largest(numbers.result):
        raise UserError(
            f"{samples.name}: squared distances up to {highest:.6g} exceed what "
            f"{numbers.result.name} holds, {largest(numbers.result):.6g}; choose a wider "
            f"accumulator"
        )
    if rounded.inexact:
        text = f"{samples.name}: {rounded.inexact} of {both.size} features are not {element.name} "
        holding = f"--set format={_format_for(both, exactly=True)} holds them exactly"
        if not isinstance(element, FloatFormat):
            raise UserError(f"{text}numbers; {holding}")
        say(f"{text}numbers and are rounded; {holding}")


def _format_for(values: Floats, *, exactly: bool = False) -> str:
    def holds(fmt: Format) -> bool:
        rounded = round_to(values, fmt)
        return not (rounded.inexact if exactly else rounded.overflows)

    return narrowest_format(holds)


def compare_distances(
    config: MatrixUnitConfig,
    numbers: Numbers,
    samples: Samples,
    found: NDArray[Any],
    reference: Floats,
) -> Distances:
    """Hold squared distances against SciPy's."""
    exact = _is_exact(numbers, samples, reference)
    bounds = np.zeros(reference.shape) if exact else _bounds(config, numbers, samples, reference)
    errors = np.abs(found.astype(np.float64) - reference)
    return Distances(
        criterion="exact" if exact else "absolute",
        bounds=bounds,
        worst=float(np.max(errors[np.isfinite(errors)], initial=0.0)),
        wrong=int(np.count_nonzero(~(errors <= bounds))),
    )


def _is_exact(numbers: Numbers, samples: Samples, reference: Floats) -> bool:
    """Tells whether differences, their squares and sums are integers that the formats hold."""
    both = np.concatenate([samples.points, samples.queries])
    if not np.array_equal(both, np.rint(both)):
        return False
    spread = float(both.max() - both.min())
    element, result = numbers.element, numbers.result
    return spread <= _integers(element) and float(reference.max()) <= _integers(result)


def _integers(fmt: Format) -> float:
    """Returns the largest magnitude up to which the format has all integers. In an integer format a
    difference may be twice as large, since it is squared in the accumulator."""
    return 2.0**fmt.significand_bits if isinstance(fmt, FloatFormat) else 2.0 * fmt.highest


def _bounds(
    config: MatrixUnitConfig, numbers: Numbers, samples: Samples, reference: Floats
) -> Floats:
    element, result = numbers.element, numbers.result
    assert isinstance(config, Simd2Config)
    assert isinstance(element, FloatFormat)
    assert isinstance(result, FloatFormat)
    u, v = 2.0**-element.significand_bits, 2.0**-result.significand_bits
    features = samples.points.shape[1]
    tiny = 2.0 ** (element.emin - element.fraction_bits) * np.sqrt(features)
    distance = np.sqrt(reference)
    norms = (np.linalg.norm(x, axis=1) for x in (samples.queries, samples.points))
    first, second = norms
    off = u * (first[:, np.newaxis] + second + distance) * (1 + 2 * u) + 2 * tiny
    square = (2 * distance + off) * off
    steps = -(-features // config.depth)
    each = v + (config.depth + 1) * 2.0**-config.window_bits
    return square + (reference + square) * ((1 + each) ** steps - 1 + features * 2.0**-50)


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
    """Find so many neighbours of each query in so many operations, write the requested files, and
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
    title = f"nearest neighbours in {samples.name}"
    report = matrix_unit_report("knn", title, rows, choice, tally, errors, details, wrong=wrong)
    report.finish()


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
