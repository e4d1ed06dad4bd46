"""Matrices whose places are drawn evenly, among them the pruned layers of two networks.

Source of the layers: Tensaurus, table 4.4 (AlexNet and VGG-16, pruned by Han et al., 2015). Two of
the table's sizes cannot be and are corrected: VGG's c2_1 has 64 channels of 3 x 3 before it, so 576
columns where the table has 1152, and fc6 has 4096 outputs, not 2096.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..tensor import Tensor
from .draws import Ints

__all__ = ["LAYERS", "Layer", "even_matrix", "layer_matrix"]

_PIECE = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A layer's weights.

    Parameters
    ----------
    shape: outputs, inputs
    density: part of the weights that is not zero
    pixels: of an image that the weights are multiplied with; 1 of a fully connected layer
    """

    shape: tuple[int, int]
    density: float
    pixels: int


def _layers(
    *rows: tuple[str, tuple[int, int], float, int],
) -> dict[str, Layer]:
    return {
        name: Layer(shape=shape, density=density, pixels=pixels)
        for name, shape, density, pixels in rows
    }


LAYERS = {
    "AlexNet": _layers(
        ("c1", (96, 363), 0.84, 55 * 55),
        ("c2", (256, 1200), 0.38, 27 * 27),
        ("c3", (384, 2304), 0.35, 13 * 13),
        ("c4", (384, 1728), 0.37, 13 * 13),
        ("c5", (256, 1728), 0.37, 13 * 13),
        ("fc6", (4096, 9216), 0.09, 1),
        ("fc7", (4096, 4096), 0.09, 1),
        ("fc8", (1000, 4096), 0.25, 1),
    ),
    "VGG-16": _layers(
        ("c1_1", (64, 27), 0.58, 224 * 224),
        ("c1_2", (64, 576), 0.22, 224 * 224),
        ("c2_1", (128, 576), 0.34, 112 * 112),
        ("c2_2", (128, 1152), 0.36, 112 * 112),
        ("c3_1", (256, 1152), 0.53, 56 * 56),
        ("c3_2", (256, 2304), 0.24, 56 * 56),
        ("c3_3", (256, 2304), 0.42, 56 * 56),
        ("c4_1", (512, 2304), 0.32, 28 * 28),
        ("c4_2", (512, 4608), 0.27, 28 * 28),
        ("c4_3", (512, 4608), 0.34, 28 * 28),
        ("c5_1", (512, 4608), 0.35, 14 * 14),
        ("c5_2", (512, 4608), 0.29, 14 * 14),
        ("c5_3", (512, 4608), 0.36, 14 * 14),
        ("fc6", (4096, 25_088), 0.01, 1),
        ("fc7", (4096, 4096), 0.02, 1),
        ("fc8", (1000, 4096), 0.09, 1),
    ),
}
"""Matrices by network. The table has fully connected layers with the inputs first."""


def even_matrix(shape: tuple[int, int], density: float, seed: int = 1) -> Tensor:
    """A matrix each of whose places is filled with the same probability, slices ascending, of
    values -3 to 3 without 0. Raises ValueError for a density that is not in 0..1."""
    if not 0 <= density <= 1:
        raise ValueError(f"`density` must be in 0..1, not {density:g}")
    rng = np.random.default_rng(seed)
    cells = shape[0] * shape[1]
    pieces: list[Ints] = [np.zeros(0, np.int64)]
    for begin in range(0, cells, _PIECE):
        there = rng.random(min(_PIECE, cells - begin), np.float32) < density
        pieces.append(np.flatnonzero(there) + begin)
    place = np.concatenate(pieces)
    indices = np.stack(np.divmod(place, shape[1]), axis=1)
    values = rng.integers(1, 4, len(place)) * rng.choice([-1.0, 1.0], len(place))
    return Tensor(shape=shape, indices=indices, values=values)


def layer_matrix(network: str, name: str, seed: int = 1) -> Tensor:
    """The weights of a layer of :data:`LAYERS`."""
    layer = LAYERS[network][name]
    return even_matrix(layer.shape, layer.density, seed)
