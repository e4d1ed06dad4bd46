"""``tilewright run knn``: distances by addnorm, neighbours and classes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from tilewright.apps.knn import neighbours
from tilewright.verif.kit.commands import Run, draw

MODEL = ("--backend", "model")
SMALL = ("--set", "tile=2", "--set", "pipeline=2")


def samples(run: Run, points: Any, queries: Any) -> tuple[Path, Path]:
    return run.save("points.npy", points), run.save("queries.npy", queries)


def searched(run: Run, *arguments: object) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]:
    """Neighbours, squared distances and the report of a run that passes."""
    outs = run.directory / "n.npy", run.directory / "d.npy"
    words = ("-o", outs[0], "--distances", outs[1], "--json", run.directory / "report.json")
    assert run("knn", *arguments, *words) == 0
    return np.load(outs[0]), np.load(outs[1]), run.report()


def test_integers_are_exact_on_rtl(run: Run) -> None:
    """Sizes that fill no tile; every operation compared with the model."""
    generator = np.random.default_rng(1)
    points, queries = generator.integers(-9, 10, (11, 5)), generator.integers(-9, 10, (3, 5))
    files = samples(run, points, queries)
    nearest, distances, report = searched(run, *files, *SMALL, "-k", 4)
    expected = cdist(queries, points, "sqeuclidean")
    np.testing.assert_array_equal(distances, expected)
    np.testing.assert_array_equal(nearest, np.argsort(expected, axis=1, kind="stable")[:, :4])
    assert report["operations"] == 2 * 3 * 6
    assert (report["checked"], report["mismatches"]) == (144, 0)
    assert report["agreement"] == {"criterion": "exact", "bound": 0.0, "worst": 0.0, "wrong": 0}
    assert "all squared distances exact" in run.out
    again, same, _ = searched(run, *files, *SMALL, "-k", 4, *MODEL)
    np.testing.assert_array_equal(again, nearest)
    np.testing.assert_array_equal(same, distances)


def test_digits(run: Run) -> None:
    """Handwritten digits: the classes and the accuracy that scikit-learn gets."""
    nearest, distances, report = searched(run, *MODEL, "--queries", 32, "--set", "tile=8")
    assert nearest.shape == (32, 5)
    assert distances.shape == (32, 1765)
    assert report["agreement"]["criterion"] == "exact"
    assert report["neighbours_farther"] == 0
    assert report["classes_shared"] == 32
    assert report["accuracy"] == report["reference_accuracy"] > 0.9
    assert "accuracy" in run.out


@pytest.mark.parametrize("fmt", ["fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32"])
def test_rounded_distances_stay_within_their_bound(run: Run, fmt: str) -> None:
    points, queries = draw(1, 30, 7), draw(2, 8, 7)
    _, distances, report = searched(run, *samples(run, points, queries), *MODEL, "-k", 3,
                                    "--set", f"format={fmt}")  # fmt: skip
    agreement = report["agreement"]
    assert agreement["criterion"] == "absolute"
    assert 0 < agreement["worst"] <= agreement["bound"]
    worst = np.abs(distances - cdist(queries, points, "sqeuclidean")).max()
    assert worst == pytest.approx(agreement["worst"])
    places = {"fp8e4m3": 4, "fp8e5m2": 3, "fp16": 11, "bf16": 8, "fp32": 24}[fmt]
    assert agreement["bound"] < 300 * 2.0**-places
    assert run.err == (
        f"warning: {run.directory}/points.npy: 266 of 266 features are not {fmt} numbers and are "
        f"rounded; --set format=fp64 holds them exactly\n"
    )


def test_equal_distances(run: Run) -> None:
    """Takes the first of equally near points; a different choice than scikit-learn's counts as
    right."""
    points = np.ones((6, 2))
    nearest, _, report = searched(run, *samples(run, points, [[1, 1]]), *MODEL, "-k", 3)
    assert nearest.tolist() == [[0, 1, 2]]
    assert report["neighbours_farther"] == 0


def test_classes(run: Run) -> None:
    """The majority; of equally many the smallest class."""
    points, queries = [[0.0], [1.0], [2.0], [10.0], [11.0]], [[1.0], [9.0]]
    files = samples(run, points, queries)
    labels = run.save("labels.npy", [7, 3, 7, -1, 3])
    truth = run.save("truth.npy", [[7], [7]])
    _, _, report = searched(run, *files, "--labels", labels, *MODEL, "-k", 3)
    assert report["classes"] == [7, -1]
    assert "accuracy" not in report
    words = ("--labels", labels, "--query-labels", truth, "-k", 3)
    _, _, report = searched(run, *files, *words, *MODEL)
    assert report["accuracy"] == 0.5
    assert "50.00% (scikit-learn: 50.00%)" in run.out


def test_a_wrong_distance_or_neighbour_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    files = samples(run, [[0.0], [1.0], [5.0]], [[0.0]])
    honest = neighbours.compare_distances

    def bent(config: Any, numbers: Any, given: Any, found: Any, reference: Any) -> Any:
        return honest(config, numbers, given, found + np.array([0, 0, 1]), reference)

    monkeypatch.setattr(neighbours, "compare_distances", bent)
    assert run("knn", *files, *MODEL, "-k", 1) == 1
    assert "DIFFERENT: 1 squared distances are wrong" in run.out
    monkeypatch.undo()
    monkeypatch.setattr(neighbours.np, "argsort", lambda found, **named: np.array([[2, 1, 0]]))
    assert run("knn", *files, *MODEL, "-k", 1, "--json", run.directory / "report.json") == 1
    assert run.report()["neighbours_farther"] == 1


def test_refusals(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    points, queries = samples(run, np.ones((6, 3)), np.ones((2, 3)))
    narrow, labels = run.save("narrow.npy", np.ones((2, 2))), run.save("l.npy", [1, 2, 3])
    here = run.directory
    for arguments, expected in [
        ((points,), f"{points}: points need a second file with the queries"),
        ((points, narrow), f"{narrow}: must have 3 columns, as {points} has, not 2"),
        ((points, queries, "-k", 7),
         "--neighbours must be in 1..6, the points there are, not 7"),
        ((points, queries, "-k", 0), "--neighbours must be in 1..6, the points there are, not 0"),
        (("--queries", 1797), "--queries must be in 1..1796, not 1797"),
        ((points, queries, "--labels", labels),
         f"{labels}: must hold 6 classes, one a sample, not 3 numbers"),
        ((points, queries, "--query-labels", labels),
         "--query-labels needs --labels, the classes of the points"),
        ((points, queries, "--labels", run.save("h.npy", [1, 2, 3, 4, 5, 0.5])),
         f"{here}/h.npy: classes must be integers"),
        ((points, run.save("nan.npy", [[1, 2, 3], [4, np.nan, 6]])),
         f"{here}/nan.npy: row 2, column 2 is nan; features must be finite"),
        ((points, run.save("z.npy", np.ones((2, 3)) * 1j)),
         f"{here}/z.npy: holds complex numbers; features must be real"),
        ((points, run.save("big.npy", [[7e4, 0, 0]])),
         f"{points}: features up to 70000 exceed what fp16 holds, 65504; --set format=bf16 holds "
         f"them"),
        ((points, run.save("far.npy", [[3e38, 0, 0]]), "--set", "format=bf16"),
         f"{points}: squared distances up to 9e+76 exceed what fp32 holds, 3.40282e+38; choose a "
         f"wider accumulator"),
        ((points, run.save("half.npy", [[0.5, 0, 0]]), "--set", "format=int8"),
         f"{points}: 1 of 21 features are not int8 numbers; --set format=fp16 holds them exactly"),
        ((points, queries, "--unit", "m3xu"),
         "unit must be one that computes addnorm for knn (simd2), not 'm3xu'"),
        ((points, queries, "--set", "ops=mma"), "`ops` must include addnorm for knn, not 'mma'"),
        ((points, queries, "-o", here / "n.txt"),
         f"{here}/n.txt: must end in .npy, .npz, .mtx or .mtx.gz, not '.txt'"),
    ]:  # fmt: skip
        assert run.refused("knn", *arguments) == expected
    many = run.save("many.npy", np.ones((8000, 208)))
    assert run.refused("knn", many, many) == (
        f"{many}: 208,000,000 operations are too many; at most 200,000,000 are allowed: choose a "
        f"larger tile or fewer queries"
    )
    more = run.save("more.npy", np.ones((9000, 1)))
    assert run.refused("knn", more, more) == (
        f"the distances in {more}: 9000 x 9000 elements are too many; at most 67108864 are allowed"
    )
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert run.refused("knn") == (
        "scikit-learn is not installed; it comes with the extra `apps`: "
        "pip install 'tilewright[apps]'"
    )
