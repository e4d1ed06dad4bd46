"""Seeds of k-means++ in passes, against distances by SciPy and draws by NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.sida.iterations.seeding import (
    Coincide,
    Seeds,
    draw_seeds,
    drawn_from,
    seeding,
)
from tilewright.sim.sida.model import SidaModel
from tilewright.sim.sida.result.products import Rules
from tilewright.sim.sida.sequence_driver import StepDriver
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import cases

CONFIG = SidaConfig(
    pes=4, subtensor=4, vector_words=128, semirings=("mma", "aril-add", "addnorm"), value="fp64"
)


def cloud(seed: int, points: int, features: int, density: float = 0.3) -> Any:
    """Random points, some of them without a coordinate that is stored."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(points, features)) * (rng.random((points, features)) < density)
    dense[rng.integers(points)] = 0
    return csr_array(dense)


def found(config: SidaConfig, points: Any, count: int, seed: int, **others: Any) -> Seeds:
    problem = seeding(Rules.of(config), points, **others)
    driver = StepDriver(SidaModel(config, 1 << 18), problem)
    rng = np.random.default_rng(seed)
    seeds = draw_seeds(driver, config.format, points.shape[0], count, rng)
    assert len(driver.jobs) == count
    assert all(job["elements"] == points.nnz for job in driver.jobs)
    return seeds


def plainly(distances: Any, count: int, seed: int) -> tuple[list[int], Any]:
    """k-means++ by NumPy, from all distances: the seeds, and each point's to the nearest."""
    rng = np.random.default_rng(seed)
    chosen = [int(rng.integers(len(distances)))]
    while len(chosen) < count:
        nearest = distances[:, chosen].min(axis=1)
        share, sums = rng.random(), np.cumsum(nearest) / nearest.sum()
        chosen.append(int(np.argmax(sums > share)))
    return chosen, distances[:, chosen].min(axis=1)


@pytest.mark.parametrize("shape", [(60, 60), (90, 20), (20, 100), (1, 5)])
@pytest.mark.parametrize("value", ["fp64", "fp32"])
def test_the_same_seeds(shape: tuple[int, int], value: str) -> None:
    """The numbers of points and features are equal, or either is larger."""
    config = replace(CONFIG, value=value)
    for seed in range(max(2, cases(10))):
        points = cloud(seed, *shape)
        count = min(8, shape[0])
        seeds = found(config, points, count, seed)
        distances = cdist(points.toarray(), points.toarray(), "sqeuclidean")
        chosen, nearest = plainly(distances, count, seed)
        assert list(seeds.chosen) == chosen
        unit = 1e-12 if value == "fp64" else 1e-4
        np.testing.assert_allclose(seeds.nearest, nearest, rtol=0, atol=unit)
        np.testing.assert_allclose(seeds.totals[-1], nearest.sum(), rtol=unit)
        assert (seeds.nearest[list(seeds.chosen)] == 0).all()
        assert list(seeds.totals) == sorted(seeds.totals, reverse=True)


def test_distances_over_what_is_stored() -> None:
    """Distances are Euclidean where every coordinate is stored; other coordinates do not count."""
    whole = csr_array(np.random.default_rng(1).normal(size=(30, 30)))
    assert found(CONFIG, whole, 6, 1, distance="stored").chosen == found(CONFIG, whole, 6, 1).chosen
    points = cloud(2, 40, 40)
    dense = points.toarray()
    distances = np.array([[((z - x)[x != 0] ** 2).sum() for z in dense] for x in dense])
    seeds = found(CONFIG, points, 6, 2, distance="stored")
    chosen, nearest = plainly(distances, 6, 2)
    assert list(seeds.chosen) == chosen
    np.testing.assert_allclose(seeds.nearest, nearest, rtol=1e-12, atol=1e-13)


def test_integers() -> None:
    config = replace(CONFIG, value="int32")
    points = csr_array(np.random.default_rng(3).integers(-9, 10, (50, 12)).astype(np.float64))
    seeds = found(config, points, 10, 3)
    distances = cdist(points.toarray(), points.toarray(), "sqeuclidean")
    chosen, nearest = plainly(distances, 10, 3)
    assert list(seeds.chosen) == chosen
    assert seeds.nearest.tolist() == nearest.tolist()
    assert seeds.totals[-1] == nearest.sum()


def test_sums_that_do_not_fit() -> None:
    points = csr_array(np.full((3, 4), 200.0) * np.arange(1, 4)[:, None])
    half = replace(CONFIG, value="fp16")
    assert refusal(lambda: found(half, points, 2, 1)) == (
        "squared distances must add up to a finite number in fp16"
    )
    rules = Rules.of(replace(CONFIG, value="int32"))
    assert refusal(lambda: seeding(rules, 100 * points)) == (
        "squared distances must add up to less than 2^31 in int32: four times the largest square, "
        "times 3 points, is 1.728e+11"
    )


def test_points_that_coincide() -> None:
    """Three places: a fourth seed has no distance to be drawn by."""
    points = csr_array(np.repeat([[1.0, 0, 2], [0, 3, 0], [0, 0, 0]], 5, axis=0))
    seeds = found(CONFIG, points, 3, 4)
    assert sorted(x // 5 for x in seeds.chosen) == [0, 1, 2]
    assert not seeds.nearest.any()
    with pytest.raises(Coincide) as caught:
        found(CONFIG, points, 4, 4)
    assert caught.value.seeds == 3


def test_draws() -> None:
    """Each point is drawn with its share of the sum. Whatever rounding leaves, no point at distance
    0 is drawn."""
    distances = np.array([0.0, 1, 0, 2, 0])
    targets = [0, 0.5, 1, 2.9, 3, 3.1]
    assert [drawn_from(distances, target) for target in targets] == [1, 1, 3, 3, 3, 3]


def test_steps_of_a_driver() -> None:
    """Checks the words that the host writes and reads in a step."""
    points = cloud(5, 10, 10)
    problem = seeding(Rules.of(CONFIG), points)
    driver = StepDriver(SidaModel(CONFIG, 1 << 16), problem)
    ones = encode(np.ones(2), CONFIG.format)
    driver.put_operand(ones, 3)
    driver.put("nearest", ones, 8)
    driver.step()
    dense = points.toarray()
    picked = dense[3] + dense[4]
    expected = ((dense - picked) ** 2).sum(axis=1)
    expected[8:] = np.minimum(expected[8:], 1)
    nearest = decode(driver.get("nearest"), CONFIG.format)
    np.testing.assert_allclose(nearest, expected, rtol=1e-12, atol=1e-13)
    norm = decode(np.array([driver.scalar("norm")], np.uint64), CONFIG.format)[0]
    np.testing.assert_allclose(norm, (picked**2).sum())
