"""Generated tensors and matrices have the shape, the count and the spread that they say."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tilewright.sim.sparse.generated.draws import Cumulated, counts_of, distinct, zipf
from tilewright.sim.sparse.generated.matrices import LAYERS, even_matrix, layer_matrix
from tilewright.sim.sparse.generated.tensors import TENSORS, generate, split_last
from tilewright.sim.sparse.tensor import Tensor, arrangement
from tilewright.verif.kit.sampling import by_size

pytestmark = pytest.mark.quick


def ascends(tensor: Tensor) -> bool:
    """Returns whether the entries are in order and no place occurs twice."""
    order, first = arrangement(tensor, 0)
    return bool(first.all() and (order == np.arange(tensor.nnz)).all())


def spread(tensor: Tensor, mode: int) -> tuple[float, float]:
    """Mean and deviation of the values of a slice."""
    counts = np.bincount(tensor.indices[:, mode], minlength=tensor.shape[mode])
    return float(counts.mean()), float(counts.std())


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_are_what_they_say(name: str) -> None:
    scale = by_size(1e-4, 1e-3, 1e-2)
    kind, tensor = TENSORS[name], generate(name, scale)
    assert tensor.nnz == round(kind.count * scale)
    for size, real in zip(tensor.shape, kind.shape, strict=True):
        assert abs(size - real * scale ** (1 / 3)) <= 0.5
    assert ascends(tensor)
    assert set(np.unique(tensor.values)) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    again, other = generate(name, scale), generate(name, scale, seed=2)
    assert (again.indices == tensor.indices).all()
    assert (again.values == tensor.values).all()
    assert not (other.indices == tensor.indices).all()
    mean, deviation = spread(tensor, 0)
    if name == "poisson3D":
        # More than that of one rate for all, far less than Zipf's.
        assert np.sqrt(mean) < deviation < mean / 2
    else:
        assert deviation > 0.8 * mean


def test_fibers_of_a_knowledge_base_are_long() -> None:
    scale = by_size(1e-3, 1e-3, 1e-2)
    tensor = generate("nell-2", scale)
    pairs = np.unique(tensor.indices[:, :2], axis=0)
    wanted = TENSORS["nell-2"].fiber * scale ** (1 / 3)
    assert 0.8 * wanted < tensor.nnz / len(pairs) < 1.25 * wanted


def test_a_user_rates_a_film_once() -> None:
    tensor = generate("netflix", 1e-4)
    assert len(np.unique(tensor.indices[:, :2], axis=0)) == tensor.nnz
    visits = np.unique(tensor.indices[:, ::2], axis=0)
    assert len(visits) < 0.95 * tensor.nnz


@pytest.mark.parametrize("scale", [0, 2, 1e-7, float("nan")])
def test_refused_scales(scale: float) -> None:
    with pytest.raises(ValueError, match=f"^`scale` must be in 1e-6..1, not {scale:g}$"):
        generate("nell-2", scale)


@pytest.mark.long
@pytest.mark.parametrize("name", TENSORS)
def test_full_size(name: str) -> None:
    tensor = generate(name)
    assert tensor.shape == TENSORS[name].shape
    assert tensor.nnz == TENSORS[name].count
    place = np.zeros(tensor.nnz, np.int64)
    for mode, size in enumerate(tensor.shape):
        place *= size
        place += tensor.indices[:, mode]
    assert (place[1:] > place[:-1]).all()


def test_the_last_mode_is_cut_in_two() -> None:
    tensor = generate("netflix", 1e-5)
    found = split_last(tensor, 7)
    assert found.shape == (*tensor.shape[:2], -(-tensor.shape[2] // 7), 7)
    assert (found.indices[:, 2] * 7 + found.indices[:, 3] == tensor.indices[:, 2]).all()
    assert (found.indices[:, :2] == tensor.indices[:, :2]).all()
    assert ascends(found)


def test_counts_go_with_shares() -> None:
    rng = np.random.default_rng(1)
    shares = zipf(rng, 200, 1.0, 2.0)
    assert abs(shares.sum() - 1) < 1e-12
    assert sorted(shares)[-1] / sorted(shares)[0] == pytest.approx(201 / 2)
    found = counts_of(shares, 10_000, 10_000)
    assert found.sum() == 10_000
    assert np.abs(found - shares * 10_000).max() < 1
    capped = counts_of(shares, 10_000, 60)
    assert capped.sum() == 10_000
    assert capped.max() == 60
    with pytest.raises(ValueError, match=re.escape("`total` must be at most 200, not 201")):
        counts_of(shares, 201, 1)


def test_indices_are_drawn_by_their_shares() -> None:
    rng = np.random.default_rng(2)
    shares = np.array([[0.5, 0.0, 0.25, 0.25], [0.1, 0.6, 0.3, 0.0]])
    kinds = rng.integers(0, 2, 40_000)
    found = Cumulated(shares).draw(rng, len(kinds), kinds)
    for kind in (0, 1):
        drawn = np.bincount(found[kinds == kind], minlength=4) / np.count_nonzero(kinds == kind)
        assert np.abs(drawn - shares[kind]).max() < 0.02
        assert not drawn[shares[kind] == 0].any()


def test_places_are_distinct_even_in_full_slices() -> None:
    """Almost all draws may hit the same cell."""
    rng = np.random.default_rng(3)
    counts = np.array([0, 10, 3, 0, 9])
    slices, cells = distinct(rng, counts, 10, lambda each: np.zeros(len(each), np.int64))
    assert (np.bincount(slices, minlength=5) == counts).all()
    assert len(np.unique(slices * 10 + cells)) == counts.sum()
    assert cells.min() == 0
    assert cells.max() == 9


@pytest.mark.parametrize("density", [0.0, 1e-3, 0.2, 0.9, 1.0])
def test_matrices_are_as_dense_as_asked(density: float) -> None:
    matrix = even_matrix((300, 200), density)
    assert abs(matrix.nnz - 60_000 * density) <= 4 * np.sqrt(60_000 * density * (1 - density))
    assert ascends(matrix)
    assert (matrix.values != 0).all()
    assert (even_matrix((300, 200), density).indices == matrix.indices).all()


def test_refused_densities() -> None:
    with pytest.raises(ValueError, match=r"^`density` must be in 0..1, not 1.5$"):
        even_matrix((2, 2), 1.5)


def test_layers_are_those_of_the_networks() -> None:
    """Sizes follow from the networks: inputs are channels times a window."""
    assert {name: len(layers) for name, layers in LAYERS.items()} == {"AlexNet": 8, "VGG-16": 16}
    channels, vgg = 3, LAYERS["VGG-16"]
    for name in (name for name in vgg if name.startswith("c")):
        assert vgg[name].shape[1] == 9 * channels
        channels = vgg[name].shape[0]
    assert vgg["fc6"].shape == (4096, channels * 7 * 7)
    alex = LAYERS["AlexNet"]
    assert [alex[name].shape[1] for name in ("c1", "c2", "c3", "c4", "c5", "fc6")] == [
        11 * 11 * 3, 5 * 5 * 96 // 2, 9 * 256, 9 * 384 // 2, 9 * 384 // 2, 256 * 6 * 6
    ]  # fmt: skip
    small = layer_matrix("VGG-16", "c1_1")
    assert small.shape == (64, 27)
    assert abs(small.nnz / (64 * 27) - 0.58) < 0.05
