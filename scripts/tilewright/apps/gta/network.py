"""Networks of full layers: weights from files, or drawn in the shape of NeRF's.

Source of the shape: Mildenhall et al., NeRF (ECCV 2020), figure 7 without the directions of views:
sines and cosines of three coordinates go through eight layers of 256, and into the fifth once more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.files import read_content
from ..common.matrix_files import numeric
from ..common.npz import read_arrays

__all__ = ["FREQUENCIES", "Layer", "drawn_network", "encoded_points", "read_network"]

Floats = NDArray[np.float64]

FREQUENCIES = 10
"""Of sines and cosines of each coordinate."""

_COORDINATES = 3
_OUTPUTS = 4
"""Density, red, green and blue."""
_NAME = re.compile(r"[wb](0|[1-9][0-9]{0,2})")
_SHOWN = 6


@dataclass(frozen=True, kw_only=True)
class Layer:
    """``weights``, (inputs, outputs), and ``bias``, (outputs,); ``again``: whether what enters the
    network enters this layer, too, behind what the layer before gives."""

    weights: Floats
    bias: Floats
    again: bool


def read_network(path: Path) -> list[Layer]:
    """The layers of an .npz file that holds w0, b0, w1, b1, ... (a bias may lack, which is 0).

    A layer that has as many inputs as the one before has outputs and the network has inputs,
    together, takes both. Raises UserError for what does not fit together.
    """
    arrays = read_arrays(path, read_content(path))
    names = [_NAME.fullmatch(name) for name in arrays]
    strange = [name for name, found in zip(arrays, names, strict=True) if not found]
    if strange:
        raise UserError(f"{path}: arrays must be named w0, b0, w1, b1, ..., not "
                        f"{strange[0][:40]!r}")  # fmt: skip
    count = sum(name.startswith("w") for name in arrays)
    wanted = [f"w{layer}" for layer in range(max(count, 1))]
    wanted += [f"w{name[1:]}" for name in arrays if name.startswith("b")]
    missing = [name for name in wanted if name not in arrays]
    if missing:
        beside = ", ".join(list(arrays)[:_SHOWN]) or "nothing"
        raise UserError(f"{path}: must hold {missing[0]}, beside {beside}")
    layers: list[Layer] = []
    for number in range(count):
        layers.append(_layer(path, number, arrays, layers))
    return layers


def _layer(path: Path, number: int, arrays: dict[str, Any], before: list[Layer]) -> Layer:
    weights = _real(arrays[f"w{number}"], f"{path}: w{number}", 2)
    inputs, outputs = weights.shape
    bias = np.zeros(outputs)
    if f"b{number}" in arrays:
        bias = _real(arrays[f"b{number}"], f"{path}: b{number}", 1)
    if len(bias) != outputs:
        raise UserError(f"{path}: b{number} must have {outputs} elements, as w{number} has "
                        f"columns, not {len(bias)}")  # fmt: skip
    if not before:
        return Layer(weights=weights, bias=bias, again=False)
    there, first = before[-1].weights.shape[1], before[0].weights.shape[0]
    if inputs not in (there, there + first):
        raise UserError(f"{path}: w{number} must have {there} rows, as w{number - 1} has columns, "
                        f"or {there + first} with the inputs again, not {inputs}")  # fmt: skip
    return Layer(weights=weights, bias=bias, again=inputs != there)


def _real(array: NDArray[Any], what: str, dimensions: int) -> Floats:
    if array.ndim != dimensions:
        raise UserError(f"{what}: must have {dimensions} dimensions, not {array.ndim}")
    found = numeric(array, what)
    if found.dtype.kind == "c":
        raise UserError(f"{what}: holds complex numbers; weights must be real")
    if not np.isfinite(found).all():
        raise UserError(f"{what}: weights must be finite")
    return found


def drawn_network(seed: int, layers: int, width: int) -> list[Layer]:
    """So many layers before the last one; magnitudes stay about the same on the way (He)."""
    rng = np.random.default_rng(seed)
    inputs = _COORDINATES * (1 + 2 * FREQUENCIES)
    found = []
    before = inputs
    for number in range(layers + 1):
        again = number == layers // 2 and number > 0
        rows, cols = before + inputs * again, width if number < layers else _OUTPUTS
        weights = rng.standard_normal((rows, cols)) * np.sqrt(2 / rows)
        found.append(Layer(weights=weights, bias=rng.standard_normal(cols) * 0.1, again=again))
        before = cols
    return found


def encoded_points(seed: int, count: int) -> Floats:
    """Points of a cube, drawn: coordinates, then sines and cosines of each, (count, 63)."""
    points = np.random.default_rng([seed, 1]).uniform(-1, 1, (count, _COORDINATES))
    parts = [points]
    for power in range(FREQUENCIES):
        angles = points * (np.pi * 2**power)
        parts += [np.sin(angles), np.cos(angles)]
    return np.concatenate(parts, axis=1)
