"""``tilewright run kmeanspp``: seeds and distances against SciPy, refusals, and runs on RTL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from tilewright.apps.common import session
from tilewright.apps.iterations.kmeanspp import against_draws
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.sida.iterations.seeding import Seeds
from tilewright.sim.sida.model import SidaModel
from tilewright.verif.kit.commands import Run
from tilewright.verif.sida.apps.files import report, save_graph
from tilewright.verif.sida.configs import small


def cloud(points: int, features: int) -> Any:
    rng = np.random.default_rng(points)
    return csr_array(rng.normal(size=(points, features)) * (rng.random((points, features)) < 0.3))


def plainly(points: Any, count: int, seed: int) -> tuple[list[int], Any]:
    """k-means++ by NumPy: the seeds, and each point's squared distance to the nearest."""
    rng = np.random.default_rng(seed)
    distances = cdist(points.toarray(), points.toarray(), "sqeuclidean")
    chosen = [int(rng.integers(len(distances)))]
    while len(chosen) < count:
        nearest = distances[:, chosen].min(axis=1)
        chosen.append(int(np.argmax(np.cumsum(nearest) / nearest.sum() > rng.random())))
    return chosen, distances[:, chosen].min(axis=1)


@pytest.mark.parametrize("shape", [(70, 70), (150, 20), (30, 80)])
def test_seeds(run: Run, shape: tuple[int, int]) -> None:
    points = cloud(*shape)
    path, out = save_graph(run, points), run.directory / "o.npy"
    found = report(run, "kmeanspp", path, "--clusters", 9, "--seed", 5, "-o", out)
    chosen, nearest = plainly(points, 9, 5)
    assert found["seeds"] == [one + 1 for one in chosen]
    assert found["same"] == found["clusters"] == found["passes"] == found["jobs"] == 9
    assert (found["rows"], found["columns"], found["seed"]) == (*shape, 5)
    np.testing.assert_allclose(np.load(out), nearest, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found["totals"][-1], nearest.sum(), rtol=1e-5)
    assert found["reference"]["wrong"] == 0
    assert 0 < found["reference"]["error"] < found["reference"]["allowed"]
    assert found["counters"]["elements"] == 9 * points.nnz
    assert f"seeds         │ {chosen[0] + 1}, " in run.out
    assert "and 1 more" in run.out


def test_formats_and_files(run: Run) -> None:
    """Dense points in integers, every value exact; fp16."""
    points = np.random.default_rng(1).integers(-5, 6, (40, 6))
    path = run.save("p.npy", points)
    found = report(run, "kmeanspp", path, "--clusters", 4, "--set", "value=int32")
    chosen, nearest = plainly(csr_array(points.astype(np.float64)), 4, 0)
    assert found["seeds"] == [one + 1 for one in chosen]
    assert found["totals"][-1] == nearest.sum()
    assert found["reference"]["error"] == 0
    found = report(run, "kmeanspp", path, "--clusters", 4, "--set", "value=fp16")
    assert found["reference"]["wrong"] == 0


def test_distances_over_what_is_stored(run: Run) -> None:
    """The distances are those of add-norm, which equal Euclidean ones where every coordinate is
    stored."""
    path = run.save("p.npy", np.random.default_rng(2).normal(size=(30, 30)))
    built = ("--set", "semirings=aril-add,addnorm")
    found = report(run, "kmeanspp", path, "--distance", "stored", *built)
    assert found["seeds"] == report(run, "kmeanspp", path)["seeds"]
    sparse = save_graph(run, cloud(60, 40))
    found = report(run, "kmeanspp", sparse, "--distance", "stored", *built)
    assert found["reference"]["wrong"] == 0
    assert found["totals"][-1] < report(run, "kmeanspp", sparse)["totals"][-1]


def test_refusals(run: Run) -> None:
    path = save_graph(run, cloud(20, 10))
    refused: Any = lambda *words: run.refused("kmeanspp", path, *words)  # noqa: E731
    assert refused("--clusters", 21) == f"--clusters must be in 1..20, the rows of {path}, not 21"
    assert refused("--clusters", 0) == "--clusters must be an integer of at least 1, not '0'"
    assert refused("--seed", "-1").startswith("--seed must be an integer in 0..")
    assert refused("--distance", "cosine") == (
        "--distance must be one of euclidean, stored, not 'cosine'"
    )
    assert refused("--distance", "stored") == (
        "`semirings` must have addnorm for --distance stored, not mma, minplus, orand, aril-add "
        "alone"
    )
    assert refused("--set", "semirings=mma") == (
        "`semirings` must have aril-add for kmeanspp, not mma alone"
    )
    assert refused("--max-iterations", 3) == (
        "--max-iterations and kmeanspp exclude each other: --clusters says how many"
    )
    assert refused("--set", "value=int32") == (
        f"{path}: {cloud(20, 10).nnz} of {cloud(20, 10).nnz} values are not integers, which int32 "
        "needs"
    )
    path = save_graph(run, cloud(10, 65))
    assert refused("--clusters", 2, "--set", "vector_words=64") == (
        f"{path}: 65 columns are too many for `vector_words` 64, elements of a vector on chip; "
        "--set vector_words=128 holds them"
    )
    path = run.save("p.npy", np.zeros((3, 4)))
    assert refused("--clusters", 2) == f"{path}: the matrix has no entries"
    path = run.save("p.npy", np.array([[1.0, np.inf]]))
    assert refused("--clusters", 1) == (
        f"{path}: the value of row 1, column 2 is inf; values must be finite numbers"
    )
    path = run.save("p.npy", np.full((3, 4), 200.0) * np.arange(1, 4)[:, None])
    assert refused("--clusters", 2, "--set", "value=fp16", "--backend", "model") == (
        f"{path}: squared distances must add up to a finite number in fp16"
    )
    path = run.save("p.npy", np.full((3, 4), 20000) * np.arange(1, 4)[:, None])
    assert refused("--clusters", 2, "--set", "value=int32") == (
        f"{path}: squared distances must add up to less than 2^31 in int32: four times the largest "
        "square, times 3 points, is 1.728e+11"
    )


def test_points_that_coincide(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    path = run.save("p.npy", np.repeat([[1.0, 0], [0, 3]], 5, axis=0))
    found = report(run, "kmeanspp", path, "--clusters", 2)
    assert sorted((one - 1) // 5 for one in found["seeds"]) == [0, 1]
    assert run.refused("kmeanspp", path, "--clusters", 3, "--backend", "model") == (
        f"{path}: has points at 2 places alone; --clusters must be at most 2, not 3"
    )
    # The command reports effects of rounding only for points that it accepts.
    path, fp16 = run.save("p.npy", [[1.0, 1e-9], [1, 0], [1, 1]]), ("--set", "value=fp16")
    capsys.readouterr()
    assert run.refused("kmeanspp", path, "--clusters", 3, *fp16, "--backend", "model") == (
        f"{path}: has points at 2 places alone; --clusters must be at most 2, not 3"
    )
    assert capsys.readouterr() == ("", "")
    report(run, "kmeanspp", path, "--clusters", 2, *fp16)
    assert f"{path}: 1 of 5 values are too small for fp16 and become zero" in run.err


def test_the_verdict_finds_what_is_wrong() -> None:
    """Another seed, another distance."""
    points = cloud(50, 50)
    chosen, nearest = plainly(points, 6, 3)
    seeds = Seeds(chosen=tuple(chosen), totals=(), nearest=nearest)

    def wrong(changed: Seeds) -> int:
        return against_draws(FORMATS["fp32"], changed, points, "euclidean", 3)[0].wrong

    assert wrong(seeds) == 0
    assert against_draws(FORMATS["fp32"], seeds, points, "euclidean", 3)[1] == 6
    for turn in range(6):
        for other in (chosen[turn] - 1, chosen[turn] + 1):
            moved = (*chosen[:turn], other % 50, *chosen[turn + 1 :])
            assert wrong(replace(seeds, chosen=moved)) > 0
    assert wrong(replace(seeds, nearest=nearest + 1e-3 * (np.arange(50) == 7))) == 1


def test_a_device_that_is_wrong(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(SidaModel):
        def _job(self) -> tuple[str, int, dict[str, int]]:
            found = super()._job()
            self.memory[self._values["VECTOR_1"] + 7] ^= 1
            return found

    monkeypatch.setattr(session, "opened", lambda one, _, size: Wrong(one.config, size))
    path = save_graph(run, cloud(30, 30))
    found = report(run, "kmeanspp", path, "--clusters", 2, status=1)
    assert found["reference"]["wrong"] > 0
    assert "DIFFERENT" in run.out


@pytest.mark.slow
def test_on_rtl(run: Run) -> None:
    """Every value and counter is the model's."""
    config = small()
    names = ("pes", "subtensor", "buffer_words", "vector_words", "channels", "data_bits",
             "outstanding")  # fmt: skip
    settings = [word for name in names for word in ("--set", f"{name}={getattr(config, name)}")]
    points = cloud(100, 90)
    found = report(run, "kmeanspp", save_graph(run, points), "--clusters", 5, "--backend", "rtl",
                   *settings)  # fmt: skip
    assert found["mismatches"] == 0
    assert found["checked"] > 100
    assert found["seeds"] == [one + 1 for one in plainly(points, 5, 0)[0]]
    assert found["counters"]["passes_done"] == 5
    assert found["counters"]["cycles"] > 0
    assert "bit for bit equal" in run.out
