"""Full layers on GTA: a p-GEMM each, its bias as C; negative values become 0 between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.agreement import Agreement, together
from ..common.files import read_content
from ..common.limits import check_size
from ..common.matrix_files import numeric, write_array
from ..common.npz import read_arrays
from ..common.units.gta import GtaChoice
from .operands import Operand, compare_product, numbers_in, operand_of, read_numbers, result_format
from .product_report import gta_report
from .products import GtaProducts, check_products

__all__ = ["Drawn", "drawn_network", "encoded_points", "run_network"]

# Source of the shape: Mildenhall et al., NeRF (ECCV 2020), figure 7 without the directions of
# views: sines and cosines of three coordinates go through eight layers of 256, and into the fifth
# again.

FREQUENCIES = 10
"""Frequencies of the sines and cosines of each coordinate."""

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
    """Draws a network of so many layers before the last one; magnitudes stay nearly equal (He)."""
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


Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Random network: ``layers`` of ``width`` before the last one, and ``samples``, by ``seed``."""

    layers: int
    width: int
    samples: int
    seed: int


@dataclass(kw_only=True)
class _Passed:
    """State of the samples after some layers.

    Parameters
    ----------
    found: on GTA, as numbers
    reference: in float64, weights and samples as they were given
    rounded: values that became others in the format on entering layers, and in weights
    layers: of each, its p-GEMM beside NumPy's product of what entered it
    """

    found: Floats
    reference: Floats
    rounded: int = 0
    layers: list[Agreement] = field(default_factory=list)


def run_network(
    choice: GtaChoice, weights: Path | None, points: Path | None, drawn: Drawn, output: Path | None
) -> None:
    """Pass samples through a network, write what leaves it, (samples, outputs), if that is asked
    for, and report. Raises UserError for samples that do not fit the network."""
    layers = read_network(weights) if weights else drawn_network(drawn.seed, drawn.layers,
                                                                 drawn.width)  # fmt: skip
    inputs = layers[0].weights.shape[0]
    samples = _samples(points, drawn, inputs, weights)
    widest = max(max(layer.weights.shape) for layer in layers)
    check_size("what passes the widest layer", len(samples), widest)
    what = f"{len(samples)} samples"
    check_products(what, choice, len(samples) * sum(layer.weights.size for layer in layers))
    entering = operand_of(points or "the samples", samples, choice.format)
    passed = _Passed(found=samples, reference=samples)
    with GtaProducts(choice) as products:
        for number, layer in enumerate(layers):
            _pass(choice.format, products, passed, layer, number, entering, samples)
            if number < len(layers) - 1:
                passed.found = np.maximum(passed.found, 0)
                passed.reference = np.maximum(passed.reference, 0)
    largest, mean = _error(passed)
    widths = [inputs, *(layer.weights.shape[1] for layer in layers)]
    again = [number for number, layer in enumerate(layers) if layer.again]
    lines = [
        ("network", " - ".join(map(str, widths)) + "".join(f", inputs again into w{n}"
                                                           for n in again)),
        ("weights", str(weights) if weights else f"drawn, seed {drawn.seed}"),
        ("samples", f"{len(samples):,}, {points or f'drawn, seed {drawn.seed}'}"),
        ("rounded", f"{passed.rounded:,} values to {choice.format}, of weights and on entering "
                    f"layers"),
        ("error", "no result is finite" if largest is None else
                  f"max {largest:.2e}, mean {mean:.2e} of the network in double precision"),
    ]  # fmt: skip
    if output:
        write_array(output, passed.found.astype(np.float32 if choice.format != "fp64" else float))
        lines.append(("written", str(output)))
    details = {
        "weights": str(weights) if weights else None, "points": str(points) if points else None,
        "samples": len(samples), "widths": widths, "again": again, "rounded": passed.rounded,
        "error": {"max": largest, "mean": mean},
    }  # fmt: skip
    title = f"{len(layers)} layers over {len(samples):,} samples"
    gta_report(
        "mlp", title, lines, choice, products.tally, [together(passed.layers)], details
    ).finish()


def _error(passed: _Passed) -> tuple[float | None, float | None]:
    """The largest and the mean of those that are finite; None if none is."""
    with np.errstate(invalid="ignore"):
        error = np.abs(passed.found - passed.reference)
    usable = error[np.isfinite(error)]
    return (float(usable.max()), float(usable.mean())) if usable.size else (None, None)


def _samples(points: Path | None, drawn: Drawn, inputs: int, weights: Path | None) -> Floats:
    if points is None:
        found = encoded_points(drawn.seed, drawn.samples)
        if found.shape[1] != inputs:
            raise UserError(f"{weights}: w0 must have {found.shape[1]} rows for samples that are "
                            f"drawn, not {inputs}: give samples, too")  # fmt: skip
        return found
    samples: Floats = read_numbers(points).astype(np.float64)
    if samples.shape[1] != inputs:
        raise UserError(f"{points}: must have {inputs} columns, as the network has inputs, not "
                        f"{samples.shape[1]}")  # fmt: skip
    if not np.isfinite(samples).all():
        raise UserError(f"{points}: samples must be finite")
    return samples


def _pass(
    format: str,
    products: GtaProducts,
    passed: _Passed,
    layer: Layer,
    number: int,
    first: Operand,
    samples: Floats,
) -> None:
    """Computes one more layer; ``first`` and ``samples`` enter the network."""
    entering = operand_of(f"what enters layer {number}", passed.found, format)
    words, values, reference = entering.words, entering.values, passed.reference
    if layer.again:
        words = np.concatenate([words, first.words], axis=1)
        values = np.concatenate([values, first.values], axis=1)
        reference = np.concatenate([reference, samples], axis=1)
    weights = operand_of(f"w{number}", layer.weights, format)
    bias = operand_of(f"b{number}", layer.bias, result_format(format))
    passed.rounded += entering.rounded + weights.rounded + bias.rounded
    addend = np.broadcast_to(bias.words, (len(values), len(bias.words)))
    sums = products.multiply(words, weights.words, addend)
    start = np.broadcast_to(bias.values, addend.shape)
    passed.layers.append(compare_product(format, sums, values, weights.values, start))
    passed.found = numbers_in(sums, result_format(format)).astype(np.float64)
    passed.reference = reference @ layer.weights + layer.bias
